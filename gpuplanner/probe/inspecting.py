"""Says which tool printed an output and what it says, by its content and never by its name."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.record import Record
from gpuplanner.probe.merging import merged
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, POSSIBLE, Parser, Problem, parsers

_LONG = 2_000_000
"""Characters; more are not looked at in all ways."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an output is. `tool`: the tool whose output it is first of all, None where none was recognised.

    A file may hold the outputs of several tools one after another; `evidence` is of all that are certain.
    """

    output: Output
    tool: str | None
    evidence: Evidence
    problems: tuple[Problem, ...]


def inspect(output: Output) -> Inspection:
    """Recognise and read one output. Never fails: what cannot be read is a problem of the result."""
    if output.unread is not None:
        return Inspection(output, None, Evidence(), (Problem(1, output.unread),))
    found = next((parts for see in _ways(output) if (parts := see(output))), [])
    problems = [problem for part in found for problem in part.problems]
    evidence = merged([part.evidence for part in found]) if found else Evidence()
    if output.cut:
        problems.append(Problem(output.text.count("\n"), msg("probe.output.cut")))
    if found and evidence.empty and not problems:
        problems.append(Problem(1, msg("probe.output.nothing_said", tool=found[0].tool)))
    return Inspection(output, found[0].tool if found else None, evidence, tuple(problems))


@dataclass(frozen=True, slots=True)
class _Part:
    """What was read of an output, or of what stands between two fences of it."""

    tool: str
    evidence: Evidence
    problems: tuple[Problem, ...]


def _between_fences(output: Output) -> list[_Part]:
    """What stands between fences first, and what around them is surely a tool's."""
    parts = [(_read(block.bare, LIKELY if fenced else CERTAIN), fenced) for block, fenced in output.bare.blocks]
    return [part for part, _ in sorted(parts, key=lambda pair: not pair[1]) if part]


def _bare(output: Output) -> list[_Part]:
    """Without what stands before the lines."""
    return [part] if (part := _read(output.bare, POSSIBLE)) else []


def _as_it_is(output: Output) -> list[_Part]:
    """A log whose lines have heads is an output, too."""
    return [part] if output.bare is not output and (part := _read(output, POSSIBLE)) else []


def _dedented(output: Output) -> list[_Part]:
    """Without the spaces that a page or a message put before all lines."""
    text = output.bare.dedented
    return [part] if text is not output.bare and (part := _read(text, POSSIBLE)) else []


_WAYS = (_between_fences, _bare, _as_it_is, _dedented)


def _ways(output: Output) -> tuple[Callable[[Output], list[_Part]], ...]:
    """How an output is looked at, until something is recognised; a long one in the one way that its beginning asks."""
    if len(output.text) <= _LONG:
        return _WAYS
    begin = replace(output, text=output.text[:_LONG])
    return (next((see for see in _WAYS if see(begin)), _bare),)


def _read(output: Output, least: int) -> _Part | None:
    """What the tools say that are sure enough; None where none is."""
    claims = [(parser, parser.recognise(output)) for parser in parsers()]
    best = max((sure for _, sure in claims), default=NO)
    if best < least:
        return None
    chosen = [parser for parser, sure in claims if sure == max(best, CERTAIN)] or [
        next(parser for parser, sure in claims if sure == best)
    ]
    read = [(parser, parser.parse(output)) for parser in chosen]
    first: Parser = min(read, key=lambda pair: _begins(pair[1].evidence))[0]
    problems = tuple(problem for _, parsed in read for problem in parsed.problems)
    return _Part(first.tool, merged([parsed.evidence for _, parsed in read]), problems)


def _begins(evidence: Evidence) -> int:
    """The first line from which anything was read: the tool that stands first names the file."""
    lines = [
        seen.line
        for name in Evidence.model_fields
        for record in _records(getattr(evidence, name))
        for seen in (*record.seen.values(), *(absent.seen for absent in record.absent.values()))
    ]
    return min(lines, default=1_000_000_000)


def _records(section: object) -> list[Record]:
    if isinstance(section, Record):
        return [section]
    return [each for each in section if isinstance(each, Record)] if isinstance(section, tuple) else []
