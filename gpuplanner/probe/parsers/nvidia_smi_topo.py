"""`nvidia-smi topo`: the matrix of paths (`-m`) and of peer-to-peer (`-p2p …`), with tabs or spaces. Judges nothing."""

import re
from collections.abc import Iterator
from typing import Any, get_args

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.paths import PathMatrix
from gpuplanner.probe.evidence.record import Seen
from gpuplanner.probe.output import Line, Output, at_line_start
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser, Problem
from gpuplanner.probe.values import Reading, lacking

_COLUMNS = r"(?:[ \t]{0,80}GPU\d{1,4}[ \t]{1,40}(?:GPU\d|NIC\d|mlx|CPU |NUMA ).*|[ \t]{1,80}GPU\d{1,4}[ \t]{0,40})$"
_HEADER = re.compile(f"^{_COLUMNS}")
_TABLE = at_line_start(_COLUMNS)
_DEVICE = re.compile(r"(?:GPU|NIC)\d{1,4}$|(?:mlx|bnxt|rocep|qedr|hns|efa|irdma|mana)[\w.]{1,40}$")
_ROW = re.compile(
    r"^[ \t]{0,80}((?:GPU|NIC)\d{1,4}|(?:mlx|bnxt|rocep|qedr|hns|efa|irdma|mana)[\w.]{1,40})[ \t]{1,80}(\S.*)$"
)
_PATH = re.compile(r"(?:NV\d{1,3}|SYS|NODE|PHB|PXB|PIX|PSB|SOC|C2C)$")
_PEER = re.compile(r"(?:OK|CNS|GNS|TNS|NS|DR|U)$")
_CELL = re.compile(r"[A-Z][A-Z0-9/]{0,7}$")
_CPUS = re.compile(r"\d{1,6}(?:-\d{1,6})?(?:,\d{1,6}(?:-\d{1,6})?){0,2000}$")
_NODES = re.compile(r"\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?){0,200}$")
_NIC = re.compile(r"^[ \t]{1,20}(NIC\d{1,4}):[ \t]{1,20}([\w.:-]{1,60})[ \t]{0,20}$")
_ASKED = re.compile(r"topo[ \t]{1,10}(?:-p2p|--p2pstatus)[ \t=]{1,10}([rwnap])\b")
_CAPABILITY = {"r": "p2p read", "w": "p2p write", "n": "p2p nvlink", "a": "p2p atomics", "p": "p2p prop"}
_KINDS = get_args(PathMatrix.model_fields["kind"].annotation)
_MOST_DEVICES = 200
_MOST_MATRICES = 200


def recognise(output: Output) -> int:
    """Certain by a header of GPUs with a row of paths below, likely by a header alone."""
    if "GPU" not in output.text or not any(output.starting(_TABLE)):
        return NO
    return CERTAIN if any(matrix.rows for matrix in _matrices(output)) else LIKELY


def parse(output: Output) -> Parsed:
    """All matrices, with affinities and the names of the adapters where a legend gives them.

    Those of peer-to-peer look the same for reading, writing, NVLink and atomics: where no command says which, that is
    a problem.
    """
    whole = [matrix for matrix in _matrices(output) if matrix.rows]
    problems = [
        Problem(matrix.last.number, msg("probe.nvidia.topo_cut", rows=len(missing)))
        for matrix in whole
        if (missing := [column for column in matrix.columns if column.startswith("GPU") and column not in matrix.rows])
    ]
    matrices = tuple(matrix.made(output) for matrix in whole)
    problems += [
        Problem(matrix.header.number, msg("probe.nvidia.p2p_unnamed"))
        for matrix, made in zip(whole, matrices, strict=True)
        if made.kind == "p2p"
    ]
    looked_for = frozenset({"matrices"} if matrices else ())
    return Parsed(Evidence(matrices=matrices, looked_for=looked_for), tuple(problems))


class _Matrix:
    """One matrix as it is read: a header, rows, a legend."""

    def __init__(self, header: Line, asked: str | None) -> None:
        self.header = header
        self.asked = asked
        self.columns = [word for word in header.text.split() if _DEVICE.match(word)][:_MOST_DEVICES]
        self.rows: dict[str, dict[str, str]] = {}
        self.cpus: dict[str, str] = {}
        self.nodes: dict[str, str] = {}
        self.nics: dict[str, str] = {}
        self.last = header
        self.lines: dict[str, Line] = {}

    def row(self, device: str, rest: str, line: Line) -> None:
        """A row's paths to the columns' devices, and what stands behind them."""
        cells = [cell.strip() for cell in rest.split("\t")] if "\t" in rest else rest.split()
        paths, behind = cells[: len(self.columns)], cells[len(self.columns) :]
        known = any(path == "X" or _PATH.match(path) or _PEER.match(path) for path in paths)
        if not known or not all(_CELL.match(path) for path in paths) or device in self.rows:
            return
        self.rows[device] = {
            column: path for column, path in zip(self.columns, paths, strict=False) if path != "X" and column != device
        }
        self.last = self.lines[device] = line
        if behind and _CPUS.match(behind[0]):
            self.cpus[device] = behind[0]
        if len(behind) > 1 and lacking(behind[1]) is None and _NODES.match(behind[1]):
            self.nodes[device] = behind[1]

    def made(self, output: Output) -> PathMatrix:
        """The record; its kind by the command, else by the words in its cells."""
        peers = any(_PEER.match(path) for row in self.rows.values() for path in row.values())
        kind: Any = self.asked if peers and self.asked in _KINDS else "p2p" if peers else "path"
        reading = Reading(output)
        rows: dict[str, Seen] = {device: reading.at(line) for device, line in self.lines.items()}
        return PathMatrix(
            kind=kind,
            devices=tuple(dict.fromkeys([*self.columns, *self.rows])),
            paths=self.rows,
            cpu_affinity=self.cpus,
            numa_affinity=self.nodes,
            nics=self.nics,
            seen={"paths": reading.at(self.header), **rows},
        )


def _matrices(output: Output) -> Iterator[_Matrix]:
    """The matrices in order, each when it is complete."""
    matrix: _Matrix | None = None
    asked = _capability(" ".join(output.command)[:400])
    begun = 0
    for line in output.lines:
        if begun < _MOST_MATRICES and _HEADER.match(line.text):
            if matrix is not None:
                yield matrix
            matrix, asked = _Matrix(line, asked), None
            begun += 1
        elif "topo" in line.text and (capability := _capability(line.text)):
            asked = capability
        elif matrix is not None and (match := _ROW.match(line.text)):
            matrix.row(match[1], match[2], line)
        elif matrix is not None and (match := _NIC.match(line.text)):
            matrix.nics[match[1]] = match[2]
    if matrix is not None:
        yield matrix


def _capability(text: str) -> str | None:
    match = _ASKED.search(text)
    return _CAPABILITY[match[1]] if match else None


PARSER = Parser("nvidia-smi-topo", recognise, parse)
