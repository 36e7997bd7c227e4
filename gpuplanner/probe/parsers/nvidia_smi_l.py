"""`nvidia-smi -L`: a line a GPU, and below it its MIG slices."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu, MigDevice
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser
from gpuplanner.probe.values import Reading, whole, words

_GPU = re.compile(r"^[ \t]*GPU[ \t]+(\d{1,4}):[ \t]+(.{1,200}?)[ \t]+\(UUID:[ \t]*([\w-]{1,80})\)[ \t]*$")
_MIG = re.compile(
    r"^[ \t]+MIG[ \t]+([\w.+]{1,40})[ \t]+Device[ \t]+(\d{1,3}):[ \t]+\(UUID:[ \t]*([\w/-]{1,120})\)[ \t]*$"
)

_OF_LINKS = re.compile(r"^[ \t]{0,40}(?:Link \d|NVML:|Nvlink |Device does not have)", re.IGNORECASE)


def recognise(output: Output) -> int:
    """Certain by a slice's line, or by a GPU's that no line of `nvlink` follows: that prints the same line first."""
    if "(UUID:" not in output.text:
        return NO
    sure = NO
    after_gpu = False
    for line in output.lines:
        if after_gpu and line.text.strip():
            if not _OF_LINKS.match(line.text):
                return CERTAIN
            after_gpu = False
        if _MIG.match(line.text):
            return CERTAIN
        if _GPU.match(line.text):
            sure, after_gpu = LIKELY, True
    return CERTAIN if after_gpu else sure


def parse(output: Output) -> Parsed:
    """GPUs with index, name and UUID; slices with their profile, and the GPU that they are of."""
    gpus, slices = [], []
    index = None
    for line in output.lines:
        reading = Reading(output)
        if match := _GPU.match(line.text):
            index = int(match[1])
            reading.take("index", match[1], whole, line)
            reading.take("name", match[2], words, line)
            reading.take("uuid", match[3], words, line)
            gpus.append(reading.made(Gpu, vendor="nvidia"))
        elif match := _MIG.match(line.text):
            reading.take("profile", match[1], words, line)
            reading.take("device_index", match[2], whole, line)
            reading.take("uuid", match[3], words, line)
            slices.append(reading.made(MigDevice, gpu_index=index))
    return Parsed(Evidence(gpus=tuple(gpus), mig_devices=tuple(slices), looked_for=frozenset({"gpus"})))


PARSER = Parser("nvidia-smi-L", recognise, parse)
