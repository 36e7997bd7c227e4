"""YAML as records with lines. Refuses aliases and deep nesting, which small files can use to grow without bound."""

from pathlib import Path
from typing import Any

import yaml

from gpuplanner.catalog.files.records import Record, Value
from gpuplanner.catalog.problems import Problem, Refused
from gpuplanner.messages import msg

DEEPEST = 30
"""Levels of nesting: a model's configuration needs four."""
MOST_FIELDS = 1000
"""Fields of one mapping: an entry has some fifty, a list of sources or of rates a few hundred."""
MOST_VALUES = 400_000
"""Fields and values of a file: some 20,000 GPUs. A longer list is a table, which CSV holds in a tenth of the memory."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""A safe one, and ten times as quick where PyYAML comes with libyaml: all of our files, read at each start."""


def parse_yaml(text: str, path: Path, *, trusted: bool = False) -> Record:
    """The top mapping of a YAML file. Raises Refused with the line when it is not YAML, or not one mapping.

    `trusted` leaves out the look at its structure beforehand, for the files that come with the app.
    """
    try:
        if not trusted:
            _look_through(text, path)
        node = yaml.compose(text, _LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise Refused(Problem(path.name, line, "", msg("overlay.file.not_yaml", reason=_reason(error)))) from error
    except yaml.YAMLError as error:
        raise Refused(Problem(path.name, 0, "", msg("overlay.file.not_yaml", reason=_reason(error)))) from error
    if not isinstance(node, yaml.MappingNode):
        raise Refused(Problem(path.name, 1, "", msg("overlay.file.not_a_mapping")))
    return _record(node, path)


def plain_yaml(text: str) -> Any:
    """What a YAML file of ours says, as plain values without lines: for files that come with the app alone."""
    loader = _LOADER(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def plain(node: yaml.Node) -> Any:
    """The content of a node as JSON would have it: numbers, booleans and null as well as text.

    A scalar that is not what it is tagged as stays text, so that who reads it can say what is wrong with it.
    """
    if isinstance(node, yaml.MappingNode):
        return {str(key.value): plain(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [plain(item) for item in node.value]
    text = str(node.value)
    kind = str(node.tag).rpartition(":")[2]
    if kind == "null":
        return None
    if kind == "bool":
        return text.casefold() in {"true", "yes", "on"}
    if kind in {"int", "float"}:
        try:
            return int(text) if kind == "int" else float(text.replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:
            return text
    return text


def _look_through(text: str, path: Path) -> None:
    """Refuse what would be dangerous to compose; events come one by one, so nothing is built yet."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, _LOADER)):
        if count > MOST_VALUES:
            raise Refused(Problem(path.name, 0, "", msg("overlay.file.many_values", limit=MOST_VALUES)))
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            raise Refused(Problem(path.name, line, "", msg("overlay.file.alias")))
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise Refused(Problem(path.name, line, "", msg("overlay.file.deep", limit=DEEPEST)))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _record(node: yaml.MappingNode, path: Path) -> Record:
    if len(node.value) > MOST_FIELDS:
        what = msg("overlay.file.many_fields", count=len(node.value), limit=MOST_FIELDS)
        raise Refused(Problem(path.name, node.start_mark.line + 1, "", what))
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise Refused(Problem(path.name, line, "", msg("overlay.file.key")))
        key = str(key_node.value)
        if key in values:
            raise Refused(Problem(path.name, line, key, msg("overlay.file.twice", first=lines[key])))
        values[key] = _value(value_node, path)
        lines[key] = line
    return Record(path.name, node.start_mark.line + 1, values, lines, node)


def _value(node: yaml.Node, path: Path) -> Value:
    if isinstance(node, yaml.MappingNode):
        return _record(node, path)
    if isinstance(node, yaml.SequenceNode):
        return tuple(_value(item, path) for item in node.value)
    return "" if node.tag == "tag:yaml.org,2002:null" else str(node.value).strip()


def _reason(error: yaml.YAMLError) -> str:
    said = getattr(error, "problem", None) or getattr(error, "reason", None)
    return str(said or type(error).__name__)
