"""Says which tool printed an output and what it says, by its content and never by its name."""

from dataclasses import dataclass

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.record import Record
from gpuplanner.probe.merging import merged
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, Parser, Problem, parsers


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
    claims = [(parser, parser.recognise(output)) for parser in parsers()]
    best = max((sure for _, sure in claims), default=0)
    if best == 0:
        return Inspection(output, None, Evidence(), ())
    chosen = [parser for parser, sure in claims if sure == max(best, CERTAIN)] or [
        next(parser for parser, sure in claims if sure == best)
    ]
    read = [(parser, parser.parse(output)) for parser in chosen]
    first: Parser = min(read, key=lambda pair: _begins(pair[1].evidence))[0]
    problems = [problem for _, parsed in read for problem in parsed.problems]
    if output.cut:
        problems.append(Problem(len(output.lines), msg("probe.output.cut")))
    return Inspection(output, first.tool, merged([parsed.evidence for _, parsed in read]), tuple(problems))


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
