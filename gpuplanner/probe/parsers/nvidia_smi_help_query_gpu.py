"""`nvidia-smi --help-query-gpu`: which fields this driver can be asked for."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading

_TITLE = re.compile(r"List of valid properties to query for the switch \"--query-gpu")
_NAMES = re.compile(r"^\"([\w.]{2,100})\"(?: or \"([\w.]{2,100})\")?[ \t]{0,10}$")
_MOST_NAMES = 2_000


def recognise(output: Output) -> int:
    """Certain by its first line."""
    return CERTAIN if _TITLE.search(output.text) else NO


def parse(output: Output) -> Parsed:
    """The names, both where a field has two."""
    names: dict[str, None] = {}
    first: Line | None = None
    for line, match in output.matching(_NAMES):
        first = first or line
        names.update(dict.fromkeys(name for name in match.groups() if name))
        if len(names) > _MOST_NAMES:
            break
    if first is None:
        return Parsed(Evidence())
    software = Software(query_fields=tuple(names), seen={"query_fields": Reading(output).at(first)})
    return Parsed(Evidence(software=software, looked_for=frozenset({"query_fields"})))


PARSER = Parser("nvidia-smi-help-query-gpu", recognise, parse)
