"""GPUs of one machine against each other: the odd one out, in what it is and in what it does."""

from collections import Counter, defaultdict
from statistics import median

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.saying import label, named, not_read, text
from gpuplanner.acceptance.verdicts import Verdict, worst
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.record import Record
from gpuplanner.units import percent

FIELDS = {
    "name": msg("check.field.name"),
    "memory_total_mib": msg("check.field.memory"),
    "vbios": msg("check.field.vbios"),
    "driver_version": msg("check.field.driver"),
    "power_limit_w": msg("check.field.power_limit"),
    "ecc_mode": msg("check.field.ecc"),
    "mig_mode": msg("check.field.mig"),
    "pcie_width_max": msg("check.field.pcie_width"),
    "pcie_gen_max": msg("check.field.pcie_generation"),
}
"""What is the same for GPUs that were delivered together."""


def alike(asked: Asked) -> Judgement | None:
    """All GPUs of the machine are the same and do the same."""
    gpus = asked.evidence.gpus
    if not gpus:
        return not_read("nvidia-smi -q")
    if len(gpus) < 2:
        return None
    found = [*_of_fields(gpus), *_of_rates(asked)]
    if found:
        verdict = worst(judgement.verdict for judgement in found)
        speaking = [judgement for judgement in found if judgement.verdict is verdict]
        reason = speaking[0].reason
        for judgement in speaking[1:4]:
            reason = msg("check.both", first=reason, second=judgement.reason)
        first = speaking[0]
        return Judgement(
            verdict,
            reason,
            first.expected,
            first.measured,
            msg("check.do.odd"),
            msg("check.ask.odd"),
            tuple(line for judgement in speaking for line in judgement.lines)[:12],
        )
    known = [name for name in FIELDS if sum(getattr(gpu, name) is not None for gpu in gpus) > 1]
    if not known or known == ["name"]:
        return not_read("nvidia-smi -q")
    return Judgement(Verdict.PASS, msg("check.alike.all", count=len(gpus)), lines=lines_of(gpus, *known[:2]))


def _of_fields(gpus: tuple[Gpu, ...]) -> list[Judgement]:
    found = []
    for field, word in FIELDS.items():
        values = Counter(value for gpu in gpus if (value := getattr(gpu, field)) is not None)
        if len(values) < 2:
            continue
        usual = values.most_common(1)[0][0]
        odd = [gpu for gpu in gpus if getattr(gpu, field) not in {None, usual}]
        reason = msg("check.alike.differs", field=word, gpus=named([label(gpu) for gpu in odd]))
        found.append(
            Judgement(
                Verdict.WARN,
                reason,
                text(_said(field, usual)),
                text(", ".join(dict.fromkeys(_said(field, getattr(gpu, field)) for gpu in odd))),
                lines=lines_of(odd, field),
            )
        )
    return found


def _said(field: str, value: object) -> str:
    """A value with the unit of its field."""
    said = f"{value:,.0f}" if isinstance(value, float) else str(value)
    match field:
        case "memory_total_mib":
            return f"{said} MiB"
        case "power_limit_w":
            return f"{said} W"
        case "pcie_width_max":
            return f"×{said}"
    return said


def _of_rates(asked: Asked) -> list[Judgement]:
    """GPUs that do less than the middle one, in each thing that was measured of several."""
    rates: dict[tuple[str, str], dict[int, tuple[float, Record]]] = defaultdict(dict)
    for rate in asked.evidence.matrix_rates:
        if rate.gpu_index is not None and rate.tflop_per_s is not None:
            _keep(rates["flops", f"{rate.dtype} {rate.m}×{rate.n}×{rate.k}"], rate.gpu_index, rate.tflop_per_s, rate)
    for row in asked.evidence.bandwidths:
        index = row.source if row.path in {"device_memory", "device_to_host"} else row.target
        if row.path in {"device_memory", "device_to_host", "host_to_device"} and index is not None and row.gb_per_s:
            _keep(rates[row.path, f"{row.method} {row.bytes} {row.both_ways}"], index, row.gb_per_s, row)
    found = []
    for (what, _), by_gpu in rates.items():
        if len(by_gpu) < 2:
            continue
        middle = median(value for value, _ in by_gpu.values())
        slow = {
            gpu: (value, row) for gpu, (value, row) in by_gpu.items() if value < middle * (1 - asked.rule["warn_share"])
        }
        if not slow:
            continue
        least = min(value for value, _ in slow.values())
        unit = "TFLOP/s" if what == "flops" else "GB/s"
        verdict = Verdict.FAIL if least < middle * (1 - asked.rule["fail_share"]) else Verdict.WARN
        reason = msg(
            "check.alike.slower",
            what=_WHAT[what],
            gpus=named([str(gpu) for gpu in slow]),
            share=percent(1 - least / middle),
        )
        found.append(
            Judgement(
                verdict,
                reason,
                text(f"{middle:,.1f} {unit}"),
                text(f"{least:,.1f} {unit}"),
                lines=lines_of((row for _, row in slow.values()), "tflop_per_s", "gb_per_s"),
            )
        )
    return found


_WHAT: dict[str, Message] = {
    "flops": msg("check.what.flops"),
    "device_memory": msg("check.what.device_memory"),
    "host_to_device": msg("check.what.host_to_device"),
    "device_to_host": msg("check.what.device_to_host"),
}


def _keep(of: dict[int, tuple[float, Record]], gpu: int, value: float, row: Record) -> None:
    if gpu not in of or value > of[gpu][0]:
        of[gpu] = value, row


CHECKS = (Check("gpu.alike", alike),)
