"""HPL, High-Performance Linpack: the rate of each solved system, and whether its residual passed."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Diagnostic, MatrixRate
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading

_HEADER = re.compile(r"^T/V\s{1,30}N\s{1,20}NB\s{1,20}P\s{1,20}Q\s{1,30}Time\s{1,30}Gflops")
_ROW = re.compile(
    r"^(W[RC]\w{4,20})\s{1,20}(\d{1,9})\s{1,20}\d{1,6}\s{1,20}\d{1,6}\s{1,20}\d{1,6}\s{1,30}\d{1,9}\.\d{1,4}\s{1,30}"
    r"(\d{1,9}(?:\.\d{1,6})?(?:e[+-]?\d{1,3})?)\b"
)
_RESIDUAL = re.compile(r"^\|\|Ax-b\|\|_oo/.{1,80}= {0,10}(\S{1,20}) \.{1,10} (PASSED|FAILED)")
_MOST_ROWS = 10_000


def recognise(output: Output) -> int:
    """Certain by the header of its results."""
    return CERTAIN if "Gflops" in output.text and output.has(_HEADER, "Gflops") else NO


def parse(output: Output) -> Parsed:
    """A rate for each system of N equations in double precision, over all processes together."""
    rates: list[MatrixRate] = []
    residuals: list[Diagnostic] = []
    for line in output.lines[: _MOST_ROWS * 100]:
        reading = Reading(output)
        if (match := _ROW.match(line.text)) and len(rates) < _MOST_ROWS:
            reading.put("n", int(match[2]), line)
            reading.put("tflop_per_s", float(match[3]) / 1e3, line)
            rates.append(reading.made(MatrixRate, dtype="fp64", path="hpl"))
        elif (match := _RESIDUAL.match(line.text)) and len(residuals) < _MOST_ROWS:
            reading.put("result", match[2], line)
            reading.put("said", match[1], line)
            residuals.append(reading.made(Diagnostic, tool="hpl", test="residual"))
    looked_for = frozenset({"matrix_rates"})
    return Parsed(Evidence(matrix_rates=tuple(rates), diagnostics=tuple(residuals), looked_for=looked_for))


PARSER = Parser("hpl", recognise, parse)
