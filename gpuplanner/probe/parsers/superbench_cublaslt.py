"""SuperBench's cublaslt_gemm: the rate of one matrix multiplication a line."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import MatrixRate
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading

_GAP = r"[ \t]{1,8}"
_RATE = r"(\d{1,9}(?:\.\d{1,9})?)"
_ROW = re.compile(
    rf"^(\d{{1,7}}){_GAP}(\d{{1,7}}){_GAP}(\d{{1,7}}){_GAP}(\d{{1,6}}){_GAP}{_RATE}{_GAP}{_RATE}\s{{0,9}}$"
)
_MOST_ROWS = 10_000


def recognise(output: Output) -> int:
    """Certain by the program's name beside such a row."""
    return CERTAIN if "cublaslt_gemm" in output.text and output.has(_ROW) else NO


def parse(output: Output) -> Parsed:
    """M, N, K and the rate in TFLOP/s; the line does not say which number format it was."""
    rates: list[MatrixRate] = []
    for line, match in output.matching(_ROW):
        if len(rates) < _MOST_ROWS:
            reading = Reading(output)
            for field, text in zip(("m", "n", "k"), match.groups(), strict=False):
                reading.put(field, int(text), line)
            reading.put("tflop_per_s", float(match[6]), line)
            rates.append(reading.made(MatrixRate, path="cublaslt"))
    return Parsed(Evidence(matrix_rates=tuple(rates), looked_for=frozenset({"matrix_rates"})))


PARSER = Parser("superbench-cublaslt", recognise, parse)
