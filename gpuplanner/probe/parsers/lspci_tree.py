"""The tree of `lspci -t`: which bridge stands above each device. Recognises and reads no output."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TREE_ROOT = re.compile(r"^ ?[-+\\ |]{0,4}-\[[0-9a-f]{4,8}:[0-9a-f]{2}(?:-[0-9a-f]{2})?\]-")
_BRANCH = re.compile(r"^[ |]{0,400}[-+\\]")
_BUS = re.compile(r"-\[(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2})(?:-[0-9a-f]{2})?\]")
_DEVICE = re.compile(r"[-+\\]-?(?P<device>[0-1][0-9a-f]\.[0-7])(?P<name>  .{1,200})?")
_MOST_PARTS = 200


@dataclass(frozen=True, slots=True)
class Node:
    """A device of the tree. `parent`: the bridge above it; empty at a root."""

    bus_id: str
    parent: str
    name: str


@dataclass(frozen=True, slots=True)
class _Bus:
    domain: str
    number: str
    bridge: str


class Tree:
    """Reads a tree line by line: what stands under a column belongs to the bus that was opened there."""

    def __init__(self) -> None:
        self._open: dict[int, _Bus] = {}

    def nodes(self, text: str) -> Iterator[Node]:
        """The devices of a line from left to right; none where the line is none of a tree."""
        if not (TREE_ROOT.match(text) or (self._open and _BRANCH.match(text))):
            self._open = {}
            return
        at = 0
        opened: _Bus | None = None
        bridge = ""
        for _ in range(_MOST_PARTS):
            bus, device = _BUS.search(text, at), _DEVICE.search(text, at)
            if bus and (not device or bus.start() < device.start()):
                domain = bus["domain"] or (above.domain if (above := self._above(opened, bridge)) else "0000")
                opened = _Bus(domain.upper(), bus["bus"].upper(), "" if bus["domain"] else bridge)
                at = bus.end()
                continue
            if not device:
                return
            column = device.start("device") - 2
            if opened is not None:
                self._open = {place: kept for place, kept in self._open.items() if place < column}
                self._open[column] = opened
            held = self._open.get(column)
            if held is None:
                return
            bus_id = f"{held.domain}:{held.number}:{device['device'].upper()}"
            yield Node(bus_id, held.bridge, (device["name"] or "").strip())
            if device["name"]:
                return
            opened, bridge, at = None, bus_id, device.end()

    def _above(self, opened: _Bus | None, bridge: str) -> _Bus | None:
        if opened is not None:
            return opened
        return next((held for held in self._open.values() if bridge.startswith(f"{held.domain}:{held.number}:")), None)
