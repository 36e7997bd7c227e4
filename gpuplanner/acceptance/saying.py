"""How a judgement is put together: of one GPU, of all, and of what was not read. Judges nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from gpuplanner.acceptance.check import MOST_LINES, Judgement
from gpuplanner.acceptance.verdicts import Verdict, worst
from gpuplanner.messages import Message, msg, shortened
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.record import Absent, Lacking, Record, Seen

_MOST_GROUPS = 4
"""Different findings that one sentence names; more of them are a table, which the evidence shows."""

_ABSENT: Mapping[Lacking, Message] = {
    Lacking.NOT_SUPPORTED: msg("check.absent.not_supported"),
    Lacking.NO_PERMISSION: msg("check.absent.no_permission"),
    Lacking.ERROR: msg("check.absent.error"),
    Lacking.UNKNOWN: msg("check.absent.unknown"),
    Lacking.UNREADABLE: msg("check.absent.unreadable"),
}


def text(value: object) -> Message:
    """A value of a machine, or a number with its unit, as it stands."""
    return msg("check.text", text=shortened(str(value), 200) or "–")


def not_read(command: str, expected: Message | None = None) -> Judgement:
    """Cannot tell: nothing that was read speaks of it, and what would."""
    return Judgement(
        Verdict.CANNOT_TELL, msg("check.not_read"), expected, do=msg("check.do.would_tell", command=command)
    )


def absent(
    why: Absent | None, command: str, expected: Message | None = None, *, do: Message | None = None
) -> Judgement:
    """Cannot tell: a tool has no value in its place, or did not print it, and what would tell."""
    would_tell = do or msg("check.do.would_tell", command=command)
    if why is None:
        return Judgement(Verdict.CANNOT_TELL, msg("check.not_read"), expected, do=would_tell)
    return Judgement(
        Verdict.CANNOT_TELL, _ABSENT[why.reason], expected, text(why.seen.text), would_tell, lines=(why.seen,)
    )


def absence(record: Record, *fields: str) -> Absent | None:
    """Why the first of some fields that stand without a value has none."""
    return next((record.absent[name] for name in fields if name in record.absent), None)


def not_measured(tier: str) -> Judgement:
    """Skipped: it is measured, and this run measured nothing of it."""
    return Judgement(Verdict.SKIPPED, msg("check.not_measured", tier=tier))


def label(gpu: Gpu) -> str:
    """What a GPU is called among the others of its machine."""
    if gpu.index is not None:
        return str(gpu.index)
    return gpu.pci_bus_id or (gpu.uuid or "")[:16] or gpu.name or "?"


def named(labels: Sequence[str]) -> str:
    """Labels in a row, neighbouring numbers together: "0–3, 6"."""
    if not all(each.isdigit() for each in labels):
        return ", ".join(labels)
    runs: list[list[int]] = []
    for number in sorted({int(each) for each in labels}):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def each_gpu(gpus: Iterable[Gpu], judge: Callable[[Gpu], Judgement | None], command: str) -> Judgement | None:
    """One judgement of all GPUs: the verdict of the worst, naming those that have it. None where none is concerned."""
    given = list(gpus)
    if not given:
        return not_read(command)
    found = [(label(gpu), _in_its_tools(gpu, judgement)) for gpu in given if (judgement := judge(gpu)) is not None]
    return of_all(found, many=len(given) > 1)


def _in_its_tools(gpu: Gpu, judgement: Judgement) -> Judgement:
    """AMD's own tool would tell of AMD's GPUs what `nvidia-smi` tells of the others."""
    if gpu.vendor == "amd" and judgement.verdict is Verdict.CANNOT_TELL:
        return replace(judgement, do=msg("check.do.would_tell", command="amd-smi static; amd-smi metric"))
    return judgement


def of_all(found: Sequence[tuple[str, Judgement]], *, many: bool) -> Judgement | None:
    """One judgement of several GPUs by their labels, the worst verdict's findings in words. None of none."""
    if not found:
        return None
    verdict = worst(judgement.verdict for _, judgement in found)
    speaking = [(name, judgement) for name, judgement in found if judgement.verdict is verdict]
    first = speaking[0][1]
    lines = _lines(judgement for _, judgement in speaking)
    if not many:
        return Judgement(verdict, first.reason, first.expected, first.measured, first.do, first.ask, lines)
    alike = len(speaking) == len(found)
    values = [(name, judgement.measured) for name, judgement in speaking if judgement.measured is not None]
    wanted = [(name, judgement.expected) for name, judgement in speaking if judgement.expected is not None]
    return Judgement(
        verdict,
        _sentences(_grouped([(name, judgement.reason) for name, judgement in speaking], all_alike=alike)),
        _of_each(wanted),
        in_a_row(_grouped(values, all_alike=alike)) if values else None,
        next((judgement.do for _, judgement in speaking if judgement.do), None),
        next((judgement.ask for _, judgement in speaking if judgement.ask), None),
        lines,
    )


def _of_each(wanted: Sequence[tuple[str, Message]]) -> Message | None:
    """What was expected: of all one value, else of each its own, since one's is not held against another."""
    if not wanted:
        return None
    one = all(message == wanted[0][1] for _, message in wanted)
    return wanted[0][1] if one else in_a_row(_grouped(wanted, all_alike=False))


def _grouped(said: Sequence[tuple[str, Message]], *, all_alike: bool) -> list[Message]:
    """What is said of each, those of whom the same is said together; without names where it is true of all."""
    groups: list[tuple[Message, list[str]]] = []
    for name, message in said:
        group = next((names for known, names in groups if known == message), None)
        if group is None:
            groups.append((message, [name]))
        else:
            group.append(name)
    if len(groups) == 1 and all_alike:
        return [groups[0][0]]
    parts = [msg("check.of_gpus", gpus=named(names), said=message) for message, names in groups[:_MOST_GROUPS]]
    if len(groups) > _MOST_GROUPS:
        more = sum(len(names) for _, names in groups[_MOST_GROUPS:])
        parts[-1] = msg("check.and_more", first=parts[-1], count=more)
    return parts


def _sentences(parts: Sequence[Message]) -> Message:
    joined = parts[-1]
    for part in reversed(parts[:-1]):
        joined = msg("check.both", first=part, second=joined)
    return joined


def in_a_row(parts: Sequence[Message]) -> Message:
    """Values of which there is one at least, one after another."""
    joined = parts[-1]
    for part in reversed(parts[:-1]):
        joined = msg("check.both_values", first=part, second=joined)
    return joined


def _lines(judgements: Iterable[Judgement]) -> tuple[Seen, ...]:
    found = {(seen.source, seen.line): seen for judgement in judgements for seen in judgement.lines}
    return tuple(found.values())[:MOST_LINES]
