"""NCCL's own log (NCCL_DEBUG=INFO): its version, how ranks reach each other, its adapters, settings and warnings."""

import re
from itertools import islice
from typing import Literal

from gpuplanner.messages import shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.record import LONGEST_QUOTE
from gpuplanner.probe.evidence.serving_log import NcclLog
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import count
from gpuplanner.probe.values import Reading, words

_LINE = re.compile(
    r"(?:^|\s)(?P<host>[\w.-]{1,100}):\d{1,10}:\d{1,10} \[\d{1,4}\] (?:\S{1,80} )?NCCL (INFO|WARN) (?P<said>.{1,2000})$"
)
_KNOWN = re.compile(
    r" nranks |Using network |NCCL version |\bvia (?:P2P|SHM|NET)|coll channels|NVLS multicast|NET/|NCCL_\w{1,50} set "
    r"|GPU Direct RDMA|P2P is disabled|Could not enable P2P|-> Algo "
)
_VERSION = re.compile(r"\bNCCL version (\d{1,2}\.\d{1,3}\.\d{1,3})")
_RANK = re.compile(r"\brank (\d{1,7}) nranks (\d{1,7})\b")
_NODES = re.compile(r"\bnNodes (\d{1,6})\b")
_CHANNELS = re.compile(r"\b(\d{1,4}) coll channels, ")
_NVLS_CHANNELS = re.compile(r"\b(\d{1,4}) nvls channels")
_NVLS = re.compile(r"NVLS multicast support is (not )?available on dev")
_NETWORK = re.compile(r"\bUsing network (\S.{0,60}?)\s{0,9}$")
_ADAPTERS = re.compile(r"NET/(?:IB|Socket)\s?: Using (\[.{1,1500})$")
_ADAPTER = re.compile(r"\[\d{1,3}\](?:\{?)([\w.-]{1,40}:\d{1,3}/\w{1,12})")
_VIA = re.compile(r"^Channel \d{1,4}(?:/\d{1,4})? : \S{1,40} -> \S{1,40} (?:\[(send|receive)\] )?via (\S{1,80})")
_GDR = re.compile(r"GPU Direct RDMA (Enabled|Disabled)\b")
_PEER_OFF = re.compile(r"P2P is disabled between|Could not enable P2P between dev")
_PLUGIN = re.compile(r"NET/Plugin ?: (?:Loaded (?:net )?plugin|Plugin name set by env to) (\S{1,80})")
_SETTING = re.compile(r"\b(NCCL_\w{1,50}) set (?:by environment )?to ?(\S.{0,200}?)\.?\s{0,9}$")
_ALGORITHM = re.compile(r"-> Algo (RING|TREE|NVLS_TREE|NVLS|COLLNET\w{0,10})\b")
_ALGORITHMS: dict[str, Literal["Ring", "Tree", "NVLS", "NVLSTree", "CollNet"]] = {
    "RING": "Ring",
    "TREE": "Tree",
    "NVLS": "NVLS",
    "NVLS_TREE": "NVLSTree",
}
_MOST_WARNINGS, _MOST_SETTINGS, _MOST_ADAPTERS, _MOST_RANKS = 100, 200, 256, 100_000
_OFF = "1"
_LOOKED_AT = 20_000
"""Marked lines among which one of those that are read stands, if any does."""


def recognise(output: Output) -> int:
    """Certain by a line with its mark that says one of the things that are read or is a warning; likely by others."""
    if "NCCL INFO " not in output.text and "NCCL WARN " not in output.text:
        return NO
    marked = islice((line.text for line in output.holding("NCCL ")), _LOOKED_AT)
    sure = NO
    for match in filter(None, map(_LINE.search, marked)):
        if match[2] == "WARN" or _KNOWN.search(match["said"]):
            return CERTAIN
        sure = LIKELY
    return sure


def parse(output: Output) -> Parsed:
    """One log, of all ranks that it has."""
    log = _Log(output)
    made = (log.made(),) if log.read() else ()
    return Parsed(Evidence(nccl_logs=made, looked_for=frozenset({"nccl_log"} if made else ())))


class _Log:
    """What the lines of all ranks say together."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._reading = Reading(output)
        self._hosts: dict[int, str] = {}
        self._ranks = 0
        self._adapters: dict[str, None] = {}
        self._transports: dict[str, int] = {}
        self._settings: dict[str, str] = {}
        self._warnings: dict[str, None] = {}
        self._first: dict[str, Line] = {}
        self._direct: bool | None = None
        self._nvls_ready: bool | None = None

    def read(self) -> bool:
        """Read all lines. Whether anything of it was read."""
        for line in self._output.lines:
            text = line.text
            if "NCCL version" in text and (match := _VERSION.search(text)):
                self._reading.put("version", match[1], line)
            if "NCCL " in text and (match := _LINE.search(text)):
                if match[2] == "WARN":
                    if len(self._warnings) < _MOST_WARNINGS:
                        self._note("warnings", line)
                        self._warnings.setdefault(shortened(match["said"].strip(), LONGEST_QUOTE))
                else:
                    self._say(match["host"], match["said"], line)
        return bool(self._reading or self._first)

    def _note(self, field: str, line: Line) -> None:
        self._first.setdefault(field, line)

    def _say(self, host: str, said: str, line: Line) -> None:
        if " via " in said and (match := _VIA.match(said)):
            self._via(match[1], match[2], line)
            return
        if " nranks " in said and (match := _RANK.search(said)):
            self._note("ranks", line)
            self._ranks = max(self._ranks, int(match[2]))
            if len(self._hosts) < _MOST_RANKS:
                self._hosts[int(match[1])] = host
        self._communicator(said, line)
        self._network(said, line)
        if "NCCL_" in said and (match := _SETTING.search(said)):
            if len(self._settings) < _MOST_SETTINGS:
                self._note("settings", line)
                self._settings.setdefault(match[1], match[2])
            if match[1] == "NCCL_P2P_DISABLE" and match[2] == _OFF:
                self._reading.put("peer_access_off", True, line)
        if "P2P" in said and _PEER_OFF.search(said):
            self._reading.put("peer_access_off", True, line)

    def _communicator(self, said: str, line: Line) -> None:
        if "nNodes" in said and (match := _NODES.search(said)):
            self._reading.take("nodes", match[1], count, line)
        elif "coll channels" in said and (match := _CHANNELS.search(said)):
            self._reading.take("channels", match[1], count, line)
            if nvls := _NVLS_CHANNELS.search(said):
                self._reading.put("nvls", int(nvls[1]) > 0, line)
        elif "NVLS multicast" in said and (match := _NVLS.search(said)):
            self._note("nvls", line)
            self._nvls_ready = not match[1] and self._nvls_ready is not False
        elif "-> Algo " in said and (match := _ALGORITHM.search(said)):
            self._reading.put("algorithm", _ALGORITHMS.get(match[1], "CollNet"), line)

    def _network(self, said: str, line: Line) -> None:
        if "Using network" in said and (match := _NETWORK.search(said)):
            self._reading.take("network", match[1], words, line)
        elif ": Using [" in said and (match := _ADAPTERS.search(said)):
            for adapter in _ADAPTER.findall(match[1]):
                if len(self._adapters) < _MOST_ADAPTERS:
                    self._note("adapters", line)
                    self._adapters.setdefault(adapter)
        elif "NET/Plugin" in said and (match := _PLUGIN.search(said)):
            self._reading.take("plugin", match[1], words, line)
        elif "GPU Direct RDMA" in said and (match := _GDR.search(said)):
            self._note("gpu_direct_rdma", line)
            self._direct = match[1] == "Enabled" or self._direct is True

    def _via(self, side: str | None, way: str, line: Line) -> None:
        """Both ends of a connection over the network print it: the sender's line counts."""
        parts = way.split("/")
        if parts[0] == "NET":
            self._note("gpu_direct_rdma", line)
            # One connection without it is one too many, but that others have it shows that it works here.
            self._direct = "GDRDMA" in parts or self._direct is True
        if side == "receive":
            return
        self._note("transports", line)
        name = {"SHM": "SHM", "NET": "/".join(parts[:3])}.get(parts[0], "/".join(parts[:2]))
        if name in self._transports or len(self._transports) < _MOST_SETTINGS:
            self._transports[name] = self._transports.get(name, 0) + 1

    def made(self) -> NcclLog:
        """The record. Hosts are counted only where each rank has a line: a log of one host knows no other."""
        put, first = self._reading.put, self._first
        if self._ranks:
            put("ranks", self._ranks, first["ranks"])
            if len(self._hosts) == self._ranks:
                put("nodes", len(set(self._hosts.values())), first["ranks"])
        if self._nvls_ready is not None:
            put("nvls", self._nvls_ready, first["nvls"])
        if self._direct is not None:
            put("gpu_direct_rdma", self._direct, first["gpu_direct_rdma"])
        if self._adapters:
            put("adapters", tuple(self._adapters), first["adapters"])
        if self._transports:
            put("transports", self._transports, first["transports"])
        if self._settings:
            put("settings", self._settings, first["settings"])
        if self._warnings:
            put("warnings", tuple(self._warnings), first["warnings"])
        return self._reading.made(NcclLog)


PARSER = Parser("nccl-log", recognise, parse)
