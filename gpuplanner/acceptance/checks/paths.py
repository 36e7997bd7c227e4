"""The paths between GPUs: whether NVLink joins those that it should, and whether they may reach each other's memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpuplanner.acceptance.check import MOST_LINES, Asked, Check, Judgement
from gpuplanner.acceptance.gpu_traits import (
    NVLINK,
    gpu_names,
    gpu_pairs,
    is_data_centre,
    is_divided,
    is_of_amd,
    matrix_lines,
    path_matrix,
)
from gpuplanner.acceptance.saying import not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import msg
from gpuplanner.probe.evidence.paths import PathMatrix

_JUDGED = ("p2p read", "p2p write", "p2p")
_WAYS = ("p2p nvlink", "p2p prop")
"""Each of one way to the other's memory, NVLink or PCIe: a pair needs one of them."""
_REFUSED = frozenset({"CNS", "GNS", "TNS", "DR", "NS"})


def topology(asked: Asked) -> Judgement | None:
    """Every pair of GPUs is joined as this machine should join it; that all are is said only where all are shown."""
    found, matrix = _joined(asked), path_matrix(asked.evidence)
    if matrix is None and is_of_amd(asked.evidence):
        return None
    pairs = gpu_pairs(matrix) if matrix else {}
    count = len(gpu_names(matrix)) if matrix else 0
    every = count * (count - 1) // 2
    if found is None or len(pairs) >= every:
        return found
    shown = msg("check.topo.part", shown=len(pairs), count=every)
    if found.verdict is not Verdict.PASS:
        return replace(found, reason=msg("check.both", first=found.reason, second=shown))
    do = msg("check.do.would_tell", command="nvidia-smi topo -m")
    return replace(found, verdict=Verdict.CANNOT_TELL, reason=shown, do=do)


def _joined(asked: Asked) -> Judgement | None:
    evidence, promised = asked.evidence, asked.promised.gpu
    several = len(evidence.gpus) > 1 or (asked.promised.gpu_count or 1) > 1
    matrix = path_matrix(evidence)
    pairs = gpu_pairs(matrix) if matrix else {}
    if matrix is None or not pairs:
        return not_read("nvidia-smi topo -m") if several and matrix is None else None
    counts = Counter(pairs.values())
    measured = text(", ".join(f"{path} × {count}" for path, count in counts.most_common()))
    lines = matrix_lines(matrix)
    linked = [pair for pair, path in pairs.items() if NVLINK.match(path)]
    without = [pair for pair in pairs if pair not in linked]
    mesh = _is_mesh(pairs)
    divided = any(is_divided(gpu) for gpu in evidence.gpus)
    wanted = bool(promised and promised.nvlink_lanes)
    do, ask = msg("check.do.nvlink"), msg("check.ask.nvlink")
    if wanted and promised is not None and not divided:
        expected = text(f"NV{promised.nvlink_lanes}")
        named = ", ".join(f"{one}–{other}" for one, other in without[:4])
        if without and mesh == promised.nvlink_lanes:
            return Judgement(Verdict.PASS, msg("check.topo.mesh"), expected, measured, lines=lines)
        if without and promised.link_is_bridge:
            if linked:
                return Judgement(Verdict.PASS, msg("check.topo.pairs"), None, measured, lines=lines)
            return Judgement(
                Verdict.WARN, msg("check.nvlink.no_bridge"), expected, measured, msg("check.do.bridge"), ask, lines
            )
        if without:
            return Judgement(Verdict.FAIL, msg("check.topo.missing", pairs=named), expected, measured, do, ask, lines)
        return Judgement(Verdict.PASS, msg("check.topo.all_linked"), expected, measured, lines=lines)
    if linked and without and mesh and len(linked) > len(without):
        return Judgement(Verdict.PASS, msg("check.topo.mesh"), None, measured, lines=lines)
    if linked and without and len(linked) > len(without):
        return Judgement(Verdict.WARN, msg("check.topo.some_missing"), None, measured, do, ask, lines)
    if linked and not without:
        uneven = len(counts) > 1
        if not uneven:
            return Judgement(Verdict.PASS, msg("check.topo.all_linked"), None, measured, lines=lines)
    if linked:
        return Judgement(Verdict.PASS, msg("check.topo.pairs"), None, measured, lines=lines)
    if set(counts) == {"SYS"} and len(pairs) > 1:
        return Judgement(
            Verdict.WARN, msg("check.topo.all_far"), text("PIX, PXB, PHB"), measured, msg("check.do.slots"), lines=lines
        )
    if promised is None:
        # Whether these GPUs should have links, nobody says.
        return Judgement(
            Verdict.CANNOT_TELL, msg("check.topo.no_promise"), None, measured, msg("check.do.promise"), lines=lines
        )
    return Judgement(Verdict.PASS, msg("check.topo.pcie"), None, measured, lines=lines)


def _is_mesh(pairs: Mapping[tuple[str, str], str]) -> int | None:
    """How many links each GPU has, where all have the same number though not to every other (V100 in a cube mesh).

    Those of which a path is not shown do not count.
    """
    totals, shown = Counter[str](), Counter[str]()
    for (one, other), path in pairs.items():
        match = NVLINK.match(path)
        for gpu in (one, other):
            totals[gpu] += int(match[1]) if match else 0
            shown[gpu] += 1
    counts = {links for gpu, links in totals.items() if shown[gpu] == len(totals) - 1}
    return counts.pop() if len(counts) == 1 else None


def peer(asked: Asked) -> Judgement | None:
    """GPUs may read and write each other's memory."""
    evidence = asked.evidence
    several = len(evidence.gpus) > 1 or (asked.promised.gpu_count or 1) > 1
    given = [matrix for matrix in evidence.matrices if gpu_pairs(matrix)]
    matrices = [matrix for matrix in given if matrix.kind in _JUDGED]
    by_way = [] if matrices else [matrix for matrix in given if matrix.kind in _WAYS]
    if not matrices and not by_way:
        if not several or is_of_amd(evidence):
            return None
        if any(is_divided(gpu) for gpu in evidence.gpus):
            return Judgement(Verdict.SKIPPED, msg("check.p2p.mig"))
        return not_read("nvidia-smi topo -p2p rw", text("OK"))
    said = _by_any_way(by_way) if by_way else Counter(path for each in matrices for path in gpu_pairs(each).values())
    matrices = matrices or by_way
    measured = text(", ".join(f"{path} × {count}" for path, count in said.most_common()))
    refused = _REFUSED & said.keys()
    lines = tuple(line for matrix in matrices for line in matrix_lines(matrix, refused))[:MOST_LINES]
    kinds = [is_data_centre(gpu) for gpu in evidence.gpus]
    if refused == {"NS"} and by_way:
        # Where NVLink does not reach, reading may go another way; only that matrix says whether it may.
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.p2p.links_only", linked=said["OK"], count=said.total()),
            text("OK"),
            measured,
            msg("check.do.would_tell", command="nvidia-smi topo -p2p r"),
            lines=lines,
        )
    if refused == {"NS"} and all(matrix.kind == "p2p" for matrix in matrices):
        # A matrix that does not say of what: for NVLink alone "not supported" is right wherever there is none.
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.p2p.of_what"),
            text("OK"),
            measured,
            msg("check.do.would_tell", command="nvidia-smi topo -p2p r"),
            lines=lines,
        )
    if refused:
        consumer = bool(kinds) and all(kind is False for kind in kinds)
        if consumer and refused <= {"GNS", "CNS", "NS"}:
            return Judgement(Verdict.WARN, msg("check.p2p.consumer"), text("OK"), measured, lines=lines)
        if not kinds or None in kinds:
            return Judgement(
                Verdict.WARN,
                msg("check.p2p.refused"),
                text("OK"),
                measured,
                msg("check.do.p2p"),
                msg("check.ask.p2p"),
                lines,
            )
        return Judgement(
            Verdict.FAIL,
            msg("check.p2p.refused"),
            text("OK"),
            measured,
            msg("check.do.p2p"),
            msg("check.ask.p2p"),
            lines,
        )
    if set(said) == {"OK"}:
        return Judgement(Verdict.PASS, msg("check.as_expected"), text("OK"), measured, lines=lines)
    return Judgement(
        Verdict.CANNOT_TELL,
        msg("check.absent.unknown"),
        text("OK"),
        measured,
        msg("check.do.would_tell", command="p2pBandwidthLatencyTest"),
        lines=lines,
    )


def _by_any_way(matrices: Sequence[PathMatrix]) -> Counter[str]:
    """What is said of each pair by the way on which it gets furthest."""
    ways: dict[tuple[str, str], list[str]] = {}
    for matrix in matrices:
        for pair, path in gpu_pairs(matrix).items():
            ways.setdefault(pair, []).append(path)
    return Counter(
        "OK" if "OK" in paths else next((path for path in paths if path != "NS"), "NS") for paths in ways.values()
    )


CHECKS = (Check("topo", topology), Check("p2p", peer))
