"""Differences between two runs, and between the GPUs of one machine, as rows to be read. Finds none itself."""

from collections.abc import Callable
from dataclasses import dataclass

from gpuplanner.acceptance.differences import Change, Difference, differences
from gpuplanner.acceptance.saying import named
from gpuplanner.acceptance.unlike import Unlike, unlike
from gpuplanner.machines.field_words import as_printed, field_value
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.record import Seen
from gpuplanner.units import Display, Unit, percent, show, show_bytes

_RATES = frozenset({"bandwidths", "matrix_rates", "collectives", "disk_rates"})
_PATHS = frozenset({"host_to_device", "device_to_host", "device_memory", "device_to_device"})
_WORSE = frozenset({Change.GONE, Change.GREW, Change.SLOWER})


@dataclass(frozen=True, slots=True)
class Row:
    """One difference. `where`: the GPU, link or host; `what`: what differs; `change`: in which way.

    Of two runs `before` and `after` are their values; of one machine what is usual there, and what these GPUs have.
    `worse`: that it is for the worse, as far as that can be told from the values alone.
    """

    where: Message
    what: Message
    before: MessageValue
    after: MessageValue
    change: Message
    worse: bool
    lines: tuple[Seen, ...] = ()


def rows_between(before: Evidence, after: Evidence) -> tuple[Row, ...]:
    """What differs in the later of two looks at a machine."""
    return tuple(_between(each) for each in differences(before, after))


def rows_within(evidence: Evidence) -> tuple[Row, ...]:
    """In what the GPUs of a machine differ from most of them."""
    return tuple(_within(each) for each in unlike(evidence))


def _between(found: Difference) -> Row:
    change = msg(f"runs.change.{found.change.value}")
    share = found.share
    if found.change in {Change.FASTER, Change.SLOWER} and share is not None:
        change = msg(f"runs.change.{found.change.value}_by", share=percent(abs(share - 1)))
    worse = found.change in _WORSE or (found.section == "events" and found.change is Change.APPEARED)
    before, after = _both(found.section, found.field, found.before, found.after)
    return Row(_where(found), _what(found), before, after, change, worse, found.lines)


def _within(found: Unlike) -> Row:
    before, after = _both(found.section, found.field, found.usual, found.value)
    where = msg("runs.where.gpu", gpu=named(found.gpus))
    what = _rate(found.section, found.what) if found.section in _RATES else msg(f"runs.field.{found.field}")
    change, worse = msg("runs.change.unlike"), True
    if found.section in _RATES and isinstance(found.usual, float) and isinstance(found.value, float):
        word = Change.FASTER if found.value > found.usual else Change.SLOWER
        change = msg(f"runs.change.{word.value}_by", share=percent(abs(found.value / found.usual - 1)))
        worse = word is Change.SLOWER
    return Row(where, what, before, after, change, worse, found.lines)


def _where(found: Difference) -> Message:
    which = as_printed(found.which)
    if found.section == "gpus" or (found.section == "events" and which):
        return msg("runs.where.gpu", gpu=which)
    if found.section == "nvlinks":
        gpu, _, link = which.partition("/")
        return msg("runs.where.link", gpu=gpu, link=link)
    if found.section in {"bandwidths", "matrix_rates"}:
        gpus = _gpus_of(which)
        return msg("runs.where.gpu", gpu=gpus) if gpus else msg("runs.where.host")
    return msg("runs.where.collective") if found.section == "collectives" else msg("runs.where.host")


def _what(found: Difference) -> Message:
    if found.section in _RATES:
        words = as_printed(found.which).split()
        if found.section in {"bandwidths", "matrix_rates"}:
            words.remove(_ends(words))
        return _rate(found.section, " ".join(words))
    if found.section == "events":
        known = found.field in {"xid", "sxid"}
        return msg(f"runs.event.{found.field}") if known else msg("runs.event.other", kind=as_printed(found.field))
    if not found.field:
        return msg("runs.field.presence")
    return msg(f"runs.field.{found.field}")


def _rate(section: str, which: str) -> Message:
    """What was measured, by the words of a difference: "host_to_device pinned", "bf16 torch", "all_reduce 8 1024"."""
    words = which.split()
    if section == "bandwidths" and words and words[0] in _PATHS:
        return msg(f"runs.path.{words[0]}", method=" ".join(words[1:]).replace("_", " ") or "–")
    if section == "matrix_rates":
        return msg("runs.path.matrix", dtype=words[0].upper() if words else "–", path=" ".join(words[1:]) or "–")
    if section == "collectives" and len(words) >= 3 and words[-1].isdecimal():
        size = show_bytes(float(words[-1]), Display())
        return msg("runs.path.collective", kind=" ".join(words[:-2]), ranks=words[-2], size=str(size))
    if section == "disk_rates" and len(words) == 3 and words[1].isdecimal():
        size = show_bytes(float(words[1]), Display())
        return msg("runs.path.disk", operation=words[0], size=str(size), depth=words[2])
    return msg("runs.path.other", words=which)


def _ends(words: list[str]) -> str:
    """The word that says between what was copied or whose product it is: "host→3", "0". Differences have one."""
    return next((word for word in words if "→" in word or word.isdecimal() or word == "host"), words[0])


def _gpus_of(which: str) -> str:
    ends = _ends(which.split()).split("→")
    return " → ".join(end for end in ends if end and end != "host")


def _both(section: str, field: str, before: object, after: object) -> tuple[MessageValue, MessageValue]:
    """Two values that differ, shown so that one sees it: in full where they are the same when rounded."""
    show_value = _shown(section, field)
    shown = show_value(before), show_value(after)
    if shown[0] != shown[1]:
        return shown
    return _in_full(before, field), _in_full(after, field)


def _in_full(value: object, field: str) -> str:
    unit = next((name for end, name in (("_mib", "MiB"), ("_bytes", "B")) if field.endswith(end)), "")
    return f"{value:,.0f} {unit}" if unit and isinstance(value, int | float) else as_printed(value)


def _shown(section: str, field: str) -> Callable[[object], MessageValue]:
    """How a value of a field is shown: with its unit, or as it was printed."""

    def shown(value: object) -> MessageValue:
        if section in _RATES and isinstance(value, int | float):
            unit = Unit.FLOP_PER_S if section == "matrix_rates" else Unit.BYTE_PER_S
            return str(show(value * (1e12 if section == "matrix_rates" else 1e9), unit, Display()))
        return field_value(field, value)

    return shown
