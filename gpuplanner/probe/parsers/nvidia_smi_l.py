"""`nvidia-smi -L`: a line a GPU, and below it its MIG slices."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu, MigDevice
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import MOST_GPUS, each_once
from gpuplanner.probe.values import Reading, whole, words

_GPU = re.compile(r"^[ \t]*GPU[ \t]+(\d{1,4}):[ \t]+(.{1,200}?)[ \t]+\(UUID:[ \t]*([\w-]{1,80})\)[ \t]*$")
_MIG = re.compile(
    r"^[ \t]+MIG[ \t]+([\w.+]{1,40})[ \t]+Device[ \t]+(\d{1,3}):[ \t]+\(UUID:[ \t]*([\w/-]{1,120})\)[ \t]*$"
)

_MOST_SLICES = 20_000
_OF_LINKS = re.compile(r"^[ \t]{0,40}(?:Link \d|NVML:|Nvlink |Device does not have)", re.IGNORECASE)


def recognise(output: Output) -> int:
    """Certain by a slice's line, or by a GPU's that no line of `nvlink` follows: that prints the same line first."""
    if not output.has(_GPU, "(UUID:") and not output.has(_MIG, "(UUID:"):
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
    """GPUs with index, name and UUID; slices with their profile, and the GPU that they are of. A line counts once."""
    gpus: dict[str, Gpu] = {}
    slices: dict[tuple[int | None, str], MigDevice] = {}
    index = None
    for line in output.lines:
        text = line.text.strip()
        if match := _GPU.match(line.text):
            index = int(match[1])
            if text not in gpus and len(gpus) <= MOST_GPUS:
                reading = Reading(output)
                reading.take("index", match[1], whole, line)
                reading.take("name", match[2], words, line)
                reading.take("uuid", match[3], words, line)
                gpus[text] = reading.made(Gpu, vendor="nvidia")
        elif (match := _MIG.match(line.text)) and (index, text) not in slices and len(slices) < _MOST_SLICES:
            reading = Reading(output)
            reading.take("profile", match[1], words, line)
            reading.take("device_index", match[2], whole, line)
            reading.take("uuid", match[3], words, line)
            slices[index, text] = reading.made(MigDevice, gpu_index=index)
    kept, problems = each_once(gpus.values())
    found = Evidence(gpus=kept, mig_devices=tuple(slices.values()), looked_for=frozenset({"gpus"}))
    return Parsed(found, problems)


PARSER = Parser("nvidia-smi-L", recognise, parse)
