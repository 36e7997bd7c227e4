"""`nvidia-smi dmon`: a row a GPU and moment. The GPU's own record has its first moment. Judges nothing."""

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Sample
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_labels import Convert
from gpuplanner.probe.parsers.nvidia_monitor import MOST_SAMPLES, has_table, rows
from gpuplanner.probe.parsers.nvidia_values import count, each_once
from gpuplanner.probe.values import Reading, number

_COLUMNS: dict[str, tuple[str, Convert]] = {
    "gpu": ("gpu_index", count),
    "pwr": ("power_w", number),
    "temp": ("temperature_c", number),
    "gtemp": ("temperature_c", number),
    "mtemp": ("memory_temperature_c", number),
    "sm": ("utilization_percent", number),
    "mem": ("memory_percent", number),
    "enc": ("encoder_percent", number),
    "dec": ("decoder_percent", number),
    "mclk": ("clock_memory_mhz", number),
    "pclk": ("clock_sm_mhz", number),
    "fb": ("memory_used_mib", number),
    "rxpci": ("pcie_received_mb_per_s", number),
    "txpci": ("pcie_sent_mb_per_s", number),
}
_OF_GPU: dict[str, tuple[str, Convert]] = {
    "gpu": ("index", count),
    "pwr": ("power_draw_w", number),
    "temp": ("temperature_c", number),
    "gtemp": ("temperature_c", number),
    "mtemp": ("temperature_memory_c", number),
    "sm": ("utilization_percent", number),
    "mem": ("utilization_memory_percent", number),
    "enc": ("utilization_encoder_percent", number),
    "dec": ("utilization_decoder_percent", number),
    "mclk": ("clock_memory_mhz", number),
    "pclk": ("clock_sm_mhz", number),
    "fb": ("memory_used_mib", number),
}


def recognise(output: Output) -> int:
    """Certain by a header of GPUs without processes."""
    return CERTAIN if "gpu" in output.text and has_table(output, processes=False) else NO


def parse(output: Output) -> Parsed:
    """Samples in order; `at_s` by the clock where there is one, else the number of the GPU's sample."""
    samples: list[Sample] = []
    gpus: list[Gpu] = []
    seen: dict[str, int] = {}
    began: float | None = None
    problems: tuple[Problem, ...] = ()
    for row in rows(output, processes=False):
        if len(samples) == MOST_SAMPLES:
            problems = (Problem(row.line.number, msg("probe.nvidia.too_many_samples", count=MOST_SAMPLES)),)
            break
        index = row.cells.get("gpu", "")
        reading = Reading(output)
        for column, cell in row.cells.items():
            reading.of(_COLUMNS, column, cell, row.line)
        began = row.at_s if began is None else began
        at_s = float(seen.get(index, 0)) if row.at_s is None or began is None else row.at_s - began
        if index not in seen:
            gpu = Reading(output)
            for column, cell in row.cells.items():
                gpu.of(_OF_GPU, column, cell, row.line)
            gpus.append(gpu.made(Gpu, vendor="nvidia"))
        seen[index] = seen.get(index, 0) + 1
        samples.append(reading.made(Sample, at_s=at_s))
    kept, more = each_once(gpus)
    return Parsed(Evidence(gpus=kept, samples=tuple(samples), looked_for=frozenset({"samples"})), (*problems, *more))


PARSER = Parser("nvidia-smi-dmon", recognise, parse)
