"""`lsblk` and `findmnt`: JSON, `lsblk -P` pairs, and `lsblk`'s tree of any columns."""

import re
from collections.abc import Iterator
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Disk, Mount
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import Fields
from gpuplanner.probe.parsers.json_lines import DEEPEST, Places, content_of
from gpuplanner.probe.values import Reading, number, size_bytes, words, yes

_JSON = re.compile(r'"(?:blockdevices|filesystems)"[ \t]{0,4}:[ \t]{0,4}\[')
_PAIRS = re.compile(r'^NAME="([^"]{1,200})" (?:[A-Z:%-]{1,20}="[^"]{0,400}" ?){1,40}$')
_PAIR = re.compile(r'([A-Z:%-]{1,20})="([^"]{0,400})"')
_HEADER = re.compile(r"^NAME(?:[ \t]{1,60}[A-Z:%-]{2,12}){1,20}[ \t]*$")
_TREE = re.compile(r"^[ |`├└│─-]{0,40}")

_DISK: Fields = {
    "type": ("kind", words),
    "model": ("model", words),
    "serial": ("serial", words),
    "size": ("size_bytes", size_bytes),
    "tran": ("transport", words),
    "rota": ("rotational", yes),
    "pkname": ("parent", words),
}
_MOUNT: Fields = {
    "target": ("target", words),
    "source": ("source", words),
    "fstype": ("kind", words),
    "size": ("size_bytes", size_bytes),
    "used": ("used_bytes", size_bytes),
    "avail": ("free_bytes", size_bytes),
    "use%": ("used_percent", number),
    "options": ("options", words),
}


def recognise(output: Output) -> int:
    """By the keys of the JSON, the pairs, or the header of the tree."""
    if _JSON.search(output.text):
        return CERTAIN
    return CERTAIN if output.has(_PAIRS, 'NAME="') or output.has(_HEADER, "NAME") else NO


def parse(output: Output) -> Parsed:
    """Block devices with what is mounted from them; file systems."""
    content = content_of(output) if output.has(_JSON) else None
    disks: list[Disk] = []
    mounts: list[Mount] = []
    if isinstance(content, dict):
        places = Places(output)
        named = ((row, above) for row, above in _rows(content.get("blockdevices")) if row.get("name"))
        disks = [_disk(output, places, row, above) for row, above in named]
        mounts = [_mount(output, places, row) for row, _ in _rows(content.get("filesystems"))]
    disks += [_of_pairs(output, line, match[0]) for line, match in output.matching(_PAIRS)]
    disks += _tree(output)
    looked = {"disks"} if disks else set()
    looked |= {"mounts"} if mounts else set()
    return Parsed(Evidence(disks=tuple(disks), mounts=tuple(mounts), looked_for=frozenset(looked)))


def _rows(content: Any, above: str = "", depth: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
    for row in content if isinstance(content, list) and depth < DEEPEST else ():
        if isinstance(row, dict):
            yield row, above
            yield from _rows(row.get("children"), str(row.get("name", "")), depth + 1)


def _taken(reading: Reading, places: Places, row: dict[str, Any], fields: Fields) -> None:
    for key, (name, convert) in fields.items():
        value = row.get(key)
        if value is None or value == "":
            continue
        text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
        reading.take(name, text, convert, places.of(key, value))


def _short(name: str) -> str:
    return name.removeprefix("/dev/")


def _disk(output: Output, places: Places, row: dict[str, Any], above: str) -> Disk:
    reading = Reading(output)
    name = row.get("name")
    line = places.of("name", name)
    if isinstance(name, str) and name:
        reading.put("name", _short(words(name)) if name.strip() else name, line)
    _taken(reading, places, row, _DISK)
    if above and "parent" not in reading:
        reading.put("parent", _short(above), line)
    points = row.get("mountpoints") if isinstance(row.get("mountpoints"), list) else [row.get("mountpoint")]
    held = tuple(str(point) for point in points or () if isinstance(point, str) and point)
    if held:
        reading.put("mounts", held, line)
    return reading.made(Disk)


def _mount(output: Output, places: Places, row: dict[str, Any]) -> Mount:
    reading = Reading(output)
    _taken(reading, places, row, _MOUNT)
    return reading.made(Mount)


def _of_pairs(output: Output, line: Line, text: str) -> Disk:
    reading = Reading(output)
    pairs = {key.lower(): value.strip() for key, value in _PAIR.findall(text)}
    reading.put("name", _short(pairs.get("name", "")), line)
    for key, (name, convert) in _DISK.items():
        if pairs.get(key):
            reading.take(name, _short(pairs[key]) if key == "pkname" else pairs[key], convert, line)
    if pairs.get("mountpoint"):
        reading.put("mounts", (pairs["mountpoint"],), line)
    return reading.made(Disk)


def _tree(output: Output) -> list[Disk]:
    """The tree of `lsblk` without options or with `-o`: cells by where the header's words end or begin."""
    disks: list[Disk] = []
    header: list[str] = []
    parents: list[tuple[int, str]] = []
    for line in output.lines:
        if _HEADER.match(line.text):
            header, parents = line.text.split(), []
            continue
        cells = _TREE.sub("", line.text).split()
        if not header or not cells:
            header = header if cells else []
            continue
        deep = len(line.text) - len(_TREE.sub("", line.text))
        parents = [(at, name) for at, name in parents if at < deep]
        disks.append(_of_tree(output, line, header, cells, parents[-1][1] if parents else ""))
        parents.append((deep, cells[0]))
    return disks


def _of_tree(output: Output, line: Line, header: list[str], cells: list[str], above: str) -> Disk:
    reading = Reading(output)
    reading.put("name", _short(cells[0]), line)
    # Empty cells leave no mark, so a cell is known by its column only in a full row; a mount point stands last.
    full = len(cells) in {len(header), len(header) - 1} and header[-1].startswith("MOUNTPOINT")
    if len(cells) == len(header) or full:
        for label, text in zip(header[1:], cells[1:], strict=False):
            field = _DISK.get(label.lower())
            if field:
                reading.take(field[0], text, field[1], line)
    if header[-1].startswith("MOUNTPOINT") and len(cells) == len(header) and cells[-1].startswith(("/", "[")):
        reading.put("mounts", (cells[-1],), line)
    if above:
        reading.put("parent", _short(above), line)
    return reading.made(Disk)


PARSER = Parser("lsblk-findmnt", recognise, parse)
