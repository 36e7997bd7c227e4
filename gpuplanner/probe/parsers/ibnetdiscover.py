"""`ibnetdiscover`: the switches and adapters of a fabric, and each cable once. Judges nothing."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.paths import FabricLink, FabricNode
from gpuplanner.probe.output import Output, at_line_start
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import count
from gpuplanner.probe.values import Reading, UnreadableError, words

_OPENS = at_line_start(r"(?:Switch|Ca|Rt)[ \t]{1,10}\d{1,4} \"[SHR]-[0-9a-f]{8,16}\"")
_NODE = re.compile(
    r"^(Switch|Ca|Rt)[ \t]{1,10}(\d{1,4}) \"([SHR]-[0-9a-f]{8,16})\"(?:[ \t]{1,60}# \"([^\"]{0,200})\")?"
)
_PORT = re.compile(
    r"^\[(\d{1,4})\](?:\([0-9a-f]{1,16}\))?[ \t]{1,40}\"([SHR]-[0-9a-f]{8,16})\"\[(\d{1,4})\](?:\([0-9a-f]{1,16}\))?"
    r"(?:[ \t]{1,60}#(.{0,300}))?"
)
_SPEED = re.compile(r"\b(\d{1,2}x[A-Z]{2,4}\d{0,3})\b")
_LANE_BIT_PER_S = {
    "SDR": 2.5e9,
    "DDR": 5e9,
    "QDR": 10e9,
    "FDR10": 10.3125e9,
    "FDR": 14.0625e9,
    "EDR": 25e9,
    "HDR": 50e9,
    "NDR": 100e9,
    "XDR": 200e9,
}
"""Of one lane, by the InfiniBand Trade Association's names (InfiniBand roadmap)."""
_KINDS = {"Switch": "switch", "Ca": "adapter", "Rt": "router"}
_MOST = 50_000


def recognise(output: Output) -> int:
    """Certain by a node's line."""
    return CERTAIN if any(output.starting(_OPENS)) else NO


def parse(output: Output) -> Parsed:
    """Nodes by their identifier; a cable that both of its ends list counts once."""
    nodes: dict[str, FabricNode] = {}
    links: dict[frozenset[tuple[str, int]], FabricLink] = {}
    owner = ""
    for line in output.lines:
        if match := _NODE.match(line.text):
            owner = match[3]
            reading = Reading(output)
            reading.put("kind", _KINDS[match[1]], line)
            reading.take("ports", match[2], count, line)
            reading.put("guid", match[3][2:], line)
            if match[4] and match[4].strip():
                reading.take("name", match[4], words, line)
            if len(nodes) < _MOST:
                nodes.setdefault(owner, reading.made(FabricNode))
        elif not line.text.strip():
            owner = ""
        elif owner and len(links) < _MOST and (match := _PORT.match(line.text)):
            ends = frozenset({(owner, int(match[1])), (match[2], int(match[3]))})
            if ends in links:
                continue
            reading = Reading(output)
            reading.put("source_guid", owner[2:], line)
            reading.put("source_port", int(match[1]), line)
            reading.put("target_guid", match[2][2:], line)
            reading.put("target_port", int(match[3]), line)
            if speed := _SPEED.search(match[4] or ""):
                reading.put("speed", speed[1], line)
                reading.take("bit_per_s", speed[1], _bit_per_s, line)
            links[ends] = reading.made(FabricLink)
    return Parsed(
        Evidence(
            fabric_nodes=tuple(nodes.values()), fabric_links=tuple(links.values()), looked_for=frozenset({"fabric"})
        )
    )


def _bit_per_s(text: str) -> float:
    """The rate of "4xHDR". Raises UnreadableError."""
    lanes, _, name = text.partition("x")
    if name not in _LANE_BIT_PER_S:
        raise UnreadableError(text)
    return int(lanes) * _LANE_BIT_PER_S[name]


PARSER = Parser("ibnetdiscover", recognise, parse)
