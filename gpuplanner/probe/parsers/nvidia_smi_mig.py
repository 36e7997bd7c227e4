"""`nvidia-smi mig`: sizes of slices that a GPU offers (-lgip, -lgipp, -lcip), instances that are made (-lgi, -lci)."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu, MigDevice, MigProfile
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import count, each_once
from gpuplanner.probe.values import Reading, number, words, yes

_TITLE = re.compile(
    r"\|[ \t]{1,10}(GPU instance profiles|Compute instance profiles|GPU instances|Compute instances):[ \t]"
)
_NONE = re.compile(r"^[ \t]{0,20}No MIG-enabled devices found\.?[ \t]{0,20}$")
_PROFILE = re.compile(
    r"\|[ \t]{1,10}(\d{1,4})[ \t]{1,10}MIG (\S{1,30})[ \t]{1,20}(\d{1,4})[ \t]{1,20}(\d{1,4})/(\d{1,4})[ \t]{1,20}"
    r"(\d{1,6}(?:\.\d{1,4})?)[ \t]{1,20}(Yes|No)[ \t]{1,20}(\d{1,5})[ \t]"
)
_PLACEMENTS = re.compile(
    r"^[ \t]{0,20}GPU[ \t]{1,5}(\d{1,4}) Profile ID[ \t]{1,5}(\d{1,4}) Placements? ?: \{([\d,]{0,200})\}:(\d{1,3})"
)
_INSTANCE = re.compile(
    r"\|[ \t]{1,10}(\d{1,4})[ \t]{1,10}MIG (\S{1,30})[ \t]{1,20}\d{1,4}[ \t]{1,20}(\d{1,4})[ \t|]"
    r"(?:[ \t]{1,20}(\d{1,3}):(\d{1,3})[ \t|])?"
)
_COMPUTE_PROFILE = re.compile(
    r"\|[ \t]{1,10}(\d{1,4})[ \t]{1,10}(\d{1,4})[ \t]{1,10}MIG (\S{1,30})[ \t]{1,20}(\d{1,4})\*?[ \t]{1,20}"
    r"(\d{1,4})/(\d{1,4})[ \t]{1,20}(\d{1,5})[ \t]"
)
"""The star marks the size that is made where none is asked for."""
_COMPUTE = re.compile(
    r"\|[ \t]{1,10}(\d{1,4})[ \t]{1,10}(\d{1,4})[ \t]{1,10}MIG (\S{1,30})[ \t]{1,20}\d{1,4}[ \t]{1,20}(\d{1,4})[ \t|]"
)

_MOST = 20_000
"""Profiles and instances: a log of polling says the same again and again."""


def recognise(output: Output) -> int:
    """Certain by the title of one of the tables."""
    if "Profile ID" in output.text and output.has(_PLACEMENTS, "Profile ID"):
        return CERTAIN
    if "MIG" not in output.text and "nstances:" not in output.text:
        return NO
    return CERTAIN if _TITLE.search(output.text) or output.has(_NONE, "No MIG-enabled devices found") else NO


def parse(output: Output) -> Parsed:
    """Profiles, instances, and the GPUs that they are of."""
    profiles: list[MigProfile] = []
    instances: list[MigDevice] = []
    gpus: list[Gpu] = []
    table = ""
    for line in output.lines:
        if len(profiles) + len(instances) >= _MOST:
            break
        if title := _TITLE.search(line.text):
            table = title[1]
        elif match := _PLACEMENTS.match(line.text):
            profiles.append(_placed(output, match, line))
            gpus.append(_gpu(output, match, line))
        elif table == "GPU instance profiles" and (match := _PROFILE.search(line.text)):
            profiles.append(_profile(output, match, line))
            gpus.append(_gpu(output, match, line))
        elif table == "GPU instances" and (match := _INSTANCE.search(line.text)):
            part = Reading(output)
            part.take("gpu_index", match[1], count, line)
            part.take("profile", match[2], words, line)
            part.take("gpu_instance_id", match[3], count, line)
            for field, text in (("placement_start", match[4]), ("placement_size", match[5])):
                if text:
                    part.take(field, text, count, line)
            instances.append(part.made(MigDevice))
            gpus.append(_gpu(output, match, line))
        elif table == "Compute instance profiles" and (match := _COMPUTE_PROFILE.search(line.text)):
            profiles.append(_part_of_a_slice(output, match, line))
            gpus.append(_gpu(output, match, line))
        elif table == "Compute instances" and (match := _COMPUTE.search(line.text)):
            part = Reading(output)
            part.take("gpu_index", match[1], count, line)
            part.take("gpu_instance_id", match[2], count, line)
            part.take("profile", match[3], words, line)
            part.take("compute_instance_id", match[4], count, line)
            instances.append(part.made(MigDevice))
            gpus.append(_gpu(output, match, line))
    kept, problems = each_once(gpus)
    evidence = Evidence(
        gpus=kept,
        mig_devices=tuple(instances),
        mig_profiles=tuple(profiles),
        looked_for=frozenset({"mig_devices"} if instances or not profiles else {"mig_profiles"}),
    )
    return Parsed(evidence, problems)


def _gpu(output: Output, match: re.Match[str], line: Line) -> Gpu:
    reading = Reading(output)
    reading.take("index", match[1], count, line)
    return reading.made(Gpu, vendor="nvidia")


def _placed(output: Output, match: re.Match[str], line: Line) -> MigProfile:
    reading = Reading(output)
    reading.take("gpu_index", match[1], count, line)
    reading.take("profile_id", match[2], count, line)
    reading.put("placements", tuple(int(start[:6]) for start in match[3].split(",") if start), line)
    reading.take("placement_size", match[4], count, line)
    return reading.made(MigProfile)


def _profile(output: Output, match: re.Match[str], line: Line) -> MigProfile:
    reading = Reading(output)
    for field, text, convert in (
        ("gpu_index", match[1], count),
        ("profile", match[2], words),
        ("profile_id", match[3], count),
        ("free", match[4], count),
        ("total", match[5], count),
        ("memory_gib", match[6], number),
        ("peer_to_peer", match[7], yes),
        ("multiprocessors", match[8], count),
    ):
        reading.take(field, text, convert, line)
    return reading.made(MigProfile)


def _part_of_a_slice(output: Output, match: re.Match[str], line: Line) -> MigProfile:
    reading = Reading(output)
    for field, text, convert in (
        ("gpu_index", match[1], count),
        ("gpu_instance_id", match[2], count),
        ("profile", match[3], words),
        ("profile_id", match[4], count),
        ("free", match[5], count),
        ("total", match[6], count),
        ("multiprocessors", match[7], count),
    ):
        reading.take(field, text, convert, line)
    return reading.made(MigProfile)


PARSER = Parser("nvidia-smi-mig", recognise, parse)
