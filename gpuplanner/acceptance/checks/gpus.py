"""Are all GPUs there, are they those that were promised, and do they answer."""

import re
from collections.abc import Set as AbstractSet

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import AMD, NVIDIA, cards, gpus_on_bus
from gpuplanner.acceptance.promised import PromisedGpu
from gpuplanner.acceptance.saying import absence, absent, each_gpu, label, named, not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import ToolFault
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.record import Lacking

_DRIVER_AWAY = {"no_driver", "no_library"}
_WITHOUT_GPUS = _DRIVER_AWAY | {"mismatch", "no_devices"}
"""Nothing is shown of any GPU: the driver does not answer, does not fit its library, or finds none that it can use."""
_OF_ADAPTERS = re.compile(r"ibpanic|IB device|\bmlx\d", re.IGNORECASE)
_BROKEN = {"gpu_lost", "needs_reset", "device_error"}
_NOMINAL_SHORT_SHARE = 0.10
"""Of nominal memory a driver shows less: 6.25% less with error correction inside GDDR6, a little less with HBM."""
_ALWAYS_THERE = ("temperature_c", "power_draw_w", "memory_total_mib", "utilization_percent", "fan_percent", "pstate")


def count(asked: Asked) -> Judgement | None:
    """As many GPUs as promised, and as many as the bus has; parts of processors are none of them."""
    evidence, wanted = asked.evidence, asked.promised.gpu_count
    listed = cards(evidence.gpus)
    answering = [gpu for gpu in listed if gpu.state != "lost"]
    amd = any(gpu.vendor == "amd" for gpu in listed)
    on_bus = cards(gpus_on_bus(evidence, (AMD,) if amd else (NVIDIA,)))
    away = _faults(evidence, _WITHOUT_GPUS)
    expected = text(wanted) if wanted is not None else text(len(on_bus)) if on_bus else None
    if not evidence.gpus and not on_bus and not away:
        return not_read("nvidia-smi -L", expected)
    measured, ask = text(len(answering)), msg("check.ask.lost_gpu")
    lines = (*lines_of(answering, "index", "name", "uuid"), *lines_of(on_bus, "bus_id"), *lines_of(away, "kind"))[:12]
    asked_driver = bool(evidence.gpus or away or "gpus" in evidence.looked_for)
    gone = [device for device in on_bus if device.revision == "ff"]
    lost = [gpu for gpu in listed if gpu.state == "lost"]
    if not asked_driver and not gone:
        if wanted is not None and len(on_bus) < wanted:
            return Judgement(
                Verdict.FAIL,
                msg("check.gpu_count.fewer"),
                expected,
                text(len(on_bus)),
                msg("check.do.lost_gpu"),
                ask,
                lines,
            )
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.gpu_count.bus_only"),
            expected,
            text(len(on_bus)),
            msg("check.do.would_tell", command="nvidia-smi -L"),
            lines=lines,
        )
    part = _is_part(evidence)
    if gone or lost or (len(on_bus) > len(answering) and not part):
        if not answering and not gone and not lost:
            reason = msg("check.gpu_count.none_answers", bus=len(on_bus))
        else:
            reason = msg("check.gpu_count.lost", answering=len(answering), bus=max(len(on_bus), len(listed)))
        return Judgement(Verdict.FAIL, reason, expected, measured, msg("check.do.lost_gpu"), ask, lines)
    if part:
        return _count_of_part(evidence, wanted, expected, measured)
    # Only a driver that answers has counted them: one that is away accuses nobody of too few.
    counted = bool(answering) or any(fault.kind == "no_devices" for fault in away)
    if wanted is None or (not counted and away):
        if on_bus:
            return Judgement(Verdict.PASS, msg("check.gpu_count.as_bus"), expected, measured, lines=lines)
        if not answering:
            none_found = bool(away) and all(fault.kind == "no_devices" for fault in away)
            return Judgement(
                Verdict.CANNOT_TELL,
                msg("check.gpu_count.none_found") if none_found else msg("check.gpu_count.no_driver"),
                expected,
                measured,
                msg("check.do.would_tell", command="lspci -nn -d 10de:"),
                lines=lines,
            )
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.gpu_count.nothing_to_compare"),
            expected,
            measured,
            msg("check.do.would_tell", command="lspci -nn -d 10de:"),
            lines=lines,
        )
    if len(answering) < wanted:
        return Judgement(
            Verdict.FAIL, msg("check.gpu_count.fewer"), expected, measured, msg("check.do.lost_gpu"), ask, lines
        )
    if len(answering) > wanted:
        return Judgement(Verdict.WARN, msg("check.gpu_count.more"), expected, measured, lines=lines)
    return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)


def _attached(evidence: Evidence) -> int:
    """How many GPUs the driver says that it has where a text shows fewer, 0 where none says so."""
    return max((gpu.of_attached or 0 for gpu in evidence.gpus), default=0)


def _is_part(evidence: Evidence) -> bool:
    """Whether a text tells of some GPUs only: by its own words, or since one has a number beyond their count.

    The driver numbers those that answer from 0 without a gap. Where it says that one is lost, the text ends there.
    """
    if _faults(evidence, _BROKEN):
        return False
    indices = {gpu.index for gpu in evidence.gpus if gpu.index is not None}
    return _breaks_off(evidence) or max(_attached(evidence), max(indices, default=-1) + 1) > len(evidence.gpus)


def _breaks_off(evidence: Evidence) -> bool:
    """Whether the text ends at the last GPU that is known; of one that ends earlier another text shows the others."""
    return bool(evidence.gpus) and evidence.gpus[-1].breaks_off is True


def _count_of_part(evidence: Evidence, wanted: int | None, expected: Message | None, measured: Message) -> Judgement:
    """Of some GPUs: too few only where the driver itself says that it has no more."""
    attached = _attached(evidence)
    lines = lines_of(evidence.gpus, "of_attached", "breaks_off", "index", "name", "uuid")
    if wanted is not None and 0 < attached < wanted:
        return Judgement(
            Verdict.FAIL,
            msg("check.gpu_count.fewer"),
            expected,
            text(attached),
            msg("check.do.lost_gpu"),
            msg("check.ask.lost_gpu"),
            lines,
        )
    return Judgement(
        Verdict.CANNOT_TELL,
        msg("check.gpus.break_off") if _breaks_off(evidence) else msg("check.gpu_count.part"),
        expected,
        msg("check.gpu_count.shown_of", shown=len(evidence.gpus), attached=attached) if attached else measured,
        msg("check.do.would_tell", command="nvidia-smi -L"),
        lines=lines,
    )


def model(asked: Asked) -> Judgement | None:
    """The GPU that was promised, whole, with its memory."""
    promised = asked.promised.gpu
    if promised is None or asked.promised.said_by is None:
        return Judgement(Verdict.SKIPPED, msg("check.nothing_promised"))

    def one(gpu: Gpu) -> Judgement | None:
        return _is_promised(gpu, promised, asked)

    return each_gpu(cards(asked.evidence.gpus), one, "nvidia-smi -q")


def _is_promised(gpu: Gpu, promised: PromisedGpu, asked: Asked) -> Judgement:
    expected, measured = text(promised.name), text(gpu.name or gpu.pci_device_id or "?")
    lines = lines_of([gpu], "name", "pci_device_id", "memory_total_mib")
    ask = msg("check.ask.other_gpu", gpu=promised.name)
    identity = asked.promised.identities.get(gpu.name or "")
    if promised.device_ids and gpu.pci_device_id is not None:
        if gpu.pci_device_id not in promised.device_ids:
            return Judgement(Verdict.FAIL, msg("check.gpu_model.other"), expected, measured, ask=ask, lines=lines)
        if identity is not None and identity.ids and promised.id not in identity.ids:
            return Judgement(
                Verdict.WARN, msg("check.gpu_model.name_differs"), expected, measured, ask=ask, lines=lines
            )
    elif gpu.name is None:
        return absent(absence(gpu, "name"), "nvidia-smi -L", expected)
    elif identity is None or not identity.ids:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.gpu_model.unknown_name"),
            expected,
            measured,
            msg("check.do.would_tell", command="nvidia-smi -q"),
            lines=lines,
        )
    elif promised.id not in identity.ids:
        return Judgement(Verdict.FAIL, msg("check.gpu_model.other"), expected, measured, ask=ask, lines=lines)
    elif len(identity.ids) > 1:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.gpu_model.open", count=len(identity.ids)),
            expected,
            measured,
            msg("check.do.would_tell", command="nvidia-smi -q"),
            lines=lines,
        )
    whole = asked.promised.gpu_fraction in {None, 1.0}
    if whole and identity is not None and identity.part:
        return Judgement(Verdict.FAIL, msg("check.gpu_model.part"), expected, measured, ask=ask, lines=lines)
    return _has_memory(gpu, asked) or Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)


def _has_memory(gpu: Gpu, asked: Asked) -> Judgement | None:
    """What is wrong with its memory, None where nothing is."""
    promised, fraction = asked.promised.gpu, asked.promised.gpu_fraction
    if promised is None or promised.memory_mib is None or gpu.memory_total_mib is None or gpu.mig_mode == "Enabled":
        return None
    wanted = promised.memory_mib * (fraction or 1.0)
    short = asked.rule["memory_short_share"] if promised.memory_is_reported else _NOMINAL_SHORT_SHARE
    if gpu.memory_total_mib >= wanted * (1 - short):
        return None
    return Judgement(
        Verdict.FAIL,
        msg("check.gpu_model.less_memory"),
        text(f"{wanted:,.0f} MiB"),
        text(f"{gpu.memory_total_mib:,.0f} MiB"),
        ask=msg("check.ask.other_gpu", gpu=promised.name),
        lines=lines_of([gpu], "memory_total_mib"),
    )


def _faults(evidence: Evidence, kinds: AbstractSet[str]) -> list[ToolFault]:
    """The faults of some kinds that are the GPUs', not a network adapter's."""
    return [fault for fault in evidence.faults if fault.kind in kinds and not _OF_ADAPTERS.search(fault.said or "")]


_SILENT = msg("check.gpu_state.broken"), msg("check.do.lost_gpu")


def _why_silent(kinds: AbstractSet[str], evidence: Evidence) -> tuple[Message, Message]:
    """Why no GPU answers, and what to do, by what the tools say: only where none answers them is the driver away."""
    if kinds & _BROKEN:
        return _SILENT
    if kinds & _DRIVER_AWAY:
        return msg("check.gpu_state.driver_away"), msg("check.do.driver_away")
    if "mismatch" in kinds:
        return msg("check.gpu_state.mismatch"), msg("check.do.reboot")
    if any(gpu.driver_version or gpu.memory_total_mib is not None for gpu in evidence.gpus):
        return msg("check.gpu_state.none_for_program"), msg("check.do.visible_gpus")
    return msg("check.gpu_state.no_devices"), msg("check.do.no_devices")


def state(asked: Asked) -> Judgement | None:
    """Every GPU answers its driver."""
    evidence = asked.evidence
    broken = _faults(evidence, _BROKEN | _WITHOUT_GPUS)
    ill = [gpu for gpu in evidence.gpus if gpu.state in {"lost", "needs reset", "error"}]
    if broken or ill:
        said = next((fault.said for fault in broken if fault.said), None) or ", ".join(
            f"{label(gpu)}: {gpu.state}" for gpu in ill
        )
        reason, do = _why_silent({fault.kind for fault in broken}, evidence) if not ill else _SILENT
        return Judgement(
            Verdict.FAIL,
            reason,
            measured=text(said),
            do=do,
            ask=msg("check.ask.lost_gpu") if (reason, do) == _SILENT else None,
            lines=(*lines_of(broken, "kind", "said"), *lines_of(ill, "state"))[:12],
        )
    # A log that merely lists GPUs does not show that they answer.
    if not any(gpu.name or gpu.memory_total_mib is not None or gpu.temperature_c is not None for gpu in evidence.gpus):
        return not_read("nvidia-smi")
    erring = {
        label(gpu): tuple(
            why.seen for name in _ALWAYS_THERE if (why := gpu.absent.get(name)) and why.reason is Lacking.ERROR
        )
        for gpu in evidence.gpus
    }
    bad = [name for name, seen in erring.items() if seen]
    if bad:
        return Judgement(
            Verdict.WARN,
            msg("check.gpu_state.errors", gpus=named(bad)),
            do=msg("check.do.lost_gpu"),
            lines=tuple(seen for found in erring.values() for seen in found)[:12],
        )
    if _is_part(evidence):
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.gpus.break_off") if _breaks_off(evidence) else msg("check.gpu_state.part"),
            measured=text(len(evidence.gpus)),
            do=msg("check.do.would_tell", command="nvidia-smi -q"),
            lines=lines_of(evidence.gpus, "of_attached", "breaks_off", "name", "uuid"),
        )
    return Judgement(
        Verdict.PASS,
        msg("check.gpu_state.all_answer"),
        measured=text(len(evidence.gpus)),
        lines=lines_of(evidence.gpus, "name", "uuid"),
    )


def recovery(asked: Asked) -> Judgement | None:
    """No GPU asks for a reset, a reboot or to be drained."""

    def one(gpu: Gpu) -> Judgement | None:
        said = gpu.recovery_action
        if said is None:
            return absent(absence(gpu, "recovery_action"), "nvidia-smi -q")
        lines, measured, expected = lines_of([gpu], "recovery_action"), text(said), text("None")
        if said.lower() == "none":
            return Judgement(Verdict.PASS, msg("check.recovery.none"), expected, measured, lines=lines)
        drain = said.lower().startswith("drain") and "reset" not in said.lower()
        return Judgement(
            Verdict.WARN if drain else Verdict.FAIL,
            msg("check.recovery.wanted", action=said),
            expected,
            measured,
            msg("check.do.recovery"),
            msg("check.ask.health"),
            lines,
        )

    return each_gpu(asked.evidence.gpus, one, "nvidia-smi -q")


CHECKS = (
    Check("gpu.count", count),
    Check("gpu.model", model),
    Check("gpu.state", state),
    Check("gpu.recovery", recovery),
)
