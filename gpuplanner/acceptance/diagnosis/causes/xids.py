"""What the kernel's log says of a GPU, by what the codes ask for: replace it, reset it, or look at the program."""

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.saying import label, named, text
from gpuplanner.messages import msg
from gpuplanner.probe.evidence.events import KernelEvent
from gpuplanner.probe.evidence.gpu import Gpu

_REPLACE = frozenset({64, 171})
"""Rows could not be remapped, and memory that was not repaired (NVIDIA's Xid catalogue; AWS isolates on 64)."""
_MEMORY = frozenset({48, 63, 92, 94, 95, 140, 160, 171})
_OFF_BUS = 79
_FINAL = ("unrepairable_memory", "remap_failed")
"""Flags of a GPU whose memory no reset repairs."""
_WAITING = ("check.remap.pending", "check.remap.channel_pending", "check.remap.tpc_pending")
_LINK = frozenset({74, *range(144, 151)})
_SHORT_BUS = 7


def _buses(events: list[KernelEvent]) -> str:
    return ", ".join(sorted({event.pci_bus_id for event in events if event.pci_bus_id})) or "–"


def _codes(events: list[KernelEvent]) -> str:
    return ", ".join(map(str, sorted({event.code for event in events if event.code is not None}))) or "–"


def _xids(looking: Looking, codes: frozenset[int]) -> list[KernelEvent]:
    return [event for event in looking.evidence.events if event.kind == "xid" and event.code in codes]


def off_bus(looking: Looking) -> Signs | None:
    """A GPU no longer answers on its bus."""
    events = [
        event
        for event in looking.evidence.events
        if event.kind == "off_bus" or (event.kind == "xid" and event.code == _OFF_BUS)
    ]
    gone = [device for device in looking.evidence.pci if device.revision == "ff"]
    if not events and not gone:
        return None
    bus = _buses(events) if events else ", ".join(device.bus_id or "?" for device in gone)
    return Signs(
        Certainty.SHOWN,
        (*lines_of(events, "code", "kind", "said"), *lines_of(gone, "revision", "bus_id"))[:12],
        {"bus": text(bus)},
        ask=msg("check.ask.lost_gpu"),
    )


def memory(looking: Looking) -> Signs | None:
    """The GPU's memory fails: errors that were not corrected, rows that could not be remapped or many that were."""
    events = _xids(looking, _MEMORY | _REPLACE)
    ill = [gpu for gpu in looking.evidence.gpus if _wears(gpu, looking.rule["most_rows"])]
    failed = [gpu for gpu in ill if gpu.remap_failed or gpu.unrepairable_memory]
    errors = [gpu for gpu in looking.evidence.gpus if (gpu.ecc_uncorrected_volatile or 0) > 0]
    if not events and not ill and not errors:
        return None
    replace = [event for event in events if event.code in _REPLACE]
    gpus = list({id(gpu): gpu for gpu in (*failed, *ill, *errors)}.values())
    said = named([label(gpu) for gpu in gpus]) if gpus else _buses(replace or events)
    shown = (
        *lines_of(replace or events, "code", "said"),
        *lines_of(errors, "ecc_uncorrected_volatile"),
        *(line for gpu in failed for line in lines_of([gpu], *(flag for flag in _FINAL if getattr(gpu, flag)))),
        *lines_of(gpus, "remapped_uncorrectable", "remap_pending"),
    )
    final = bool(replace or failed or ill)
    return Signs(
        Certainty.SHOWN,
        shown[:12],
        {"gpus": text(said), "codes": text(_codes(events))},
        sentence=("replace" if events else "worn") if final else "cause" if events else "counted",
        fix=msg("diagnosis.memory_fails.fix_replace") if final else None,
        ask=msg("check.ask.health"),
    )


def _wears(gpu: Gpu, most_rows: float) -> bool:
    return any(getattr(gpu, flag) for flag in _FINAL) or (gpu.remapped_uncorrectable or 0) > most_rows


def waits(looking: Looking) -> Signs | None:
    """A repair that a reset completes; not where the memory has to be replaced, or its errors ask for the reset."""
    judgement = looking.failed("mem.remap", *_WAITING)
    if judgement is None or memory(looking) is not None:
        return None
    return Signs(
        Certainty.SHOWN, judgement.lines, {"said": judgement.reason}, fix=judgement.do, ask=msg("check.ask.health")
    )


def other(looking: Looking) -> Signs | None:
    """Codes of the GPU, its links or its firmware that are neither its memory nor its bus."""
    judgement = looking.failed("xid", "check.xid.serious")
    if judgement is None:
        return None
    known = _MEMORY | _REPLACE | {_OFF_BUS}
    events = [event for event in looking.evidence.events if event.kind == "xid" and event.code not in known]
    seen = {(line.source, line.line) for line in judgement.lines}
    serious = [
        event for event in events
        if any((each.source, each.line) in seen for each in event.seen.values())
    ]  # fmt: skip
    if not serious:
        return None
    links = all(event.code in _LINK for event in serious)
    return Signs(
        Certainty.SHOWN,
        lines_of(serious, "code", "said"),
        {"codes": text(_codes(serious)), "bus": text(_buses(serious))},
        sentence="links" if links else "cause",
        ask=msg("check.ask.xid"),
    )


CAUSES = (
    Cause("off_the_bus", off_bus),
    Cause("memory_fails", memory),
    Cause("xid", other),
    Cause("repair_waits", waits),
)
