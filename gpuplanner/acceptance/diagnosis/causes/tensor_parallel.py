"""A model split over GPUs that no fast link joins: wider than an island of links, or over slices of GPUs."""

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.gpu_traits import NVLINK, gpu_pairs, is_divided, matrix_lines, path_matrix
from gpuplanner.acceptance.saying import text


def islands(pairs: dict[tuple[str, str], str]) -> list[set[str]]:
    """The GPUs that NVLinks join, directly or through others, largest first; each without links is one of its own."""
    found: list[set[str]] = []
    for pair, path in pairs.items():
        for gpu in pair:
            if not any(gpu in island for island in found):
                found.append({gpu})
        if NVLINK.match(path):
            joined = set().union(*(island for island in found if island & set(pair)))
            found = [island for island in found if not island & joined] + [joined]
    return sorted(found, key=len, reverse=True)


def beyond_links(looking: Looking) -> Signs | None:
    """A server splits its model over more GPUs than links join."""
    matrix = path_matrix(looking.evidence)
    if matrix is None:
        return None
    pairs = gpu_pairs(matrix)
    joined = islands(pairs)
    linked = max((len(island) for island in joined), default=0)
    for server in looking.evidence.servers:
        wide = server.tensor_parallel or 1
        if wide > max(linked, 1) and wide > 1 and len(pairs) > 0:
            far = sorted({path for path in pairs.values() if not NVLINK.match(path)})
            return Signs(
                Certainty.LIKELY,
                (*lines_of([server], "tensor_parallel"), *matrix_lines(matrix))[:12],
                {"wide": wide, "linked": linked, "paths": text(", ".join(far))},
                sentence="cause" if linked > 1 else "no_links",
            )
    return None


def over_slices(looking: Looking) -> Signs | None:
    """A model or a job is split over slices of MIG, which do not reach each other's memory."""
    divided = [gpu for gpu in looking.evidence.gpus if is_divided(gpu)]
    if not divided:
        return None
    wide = next((server for server in looking.evidence.servers if (server.tensor_parallel or 1) > 1), None)
    job = next((log for log in looking.evidence.nccl_logs if (log.ranks or 1) > 1), None)
    if wide is None and job is None:
        return None
    count = (wide.tensor_parallel if wide else job.ranks if job else None) or 2
    shown = (
        *lines_of([wide] if wide else [], "tensor_parallel"),
        *lines_of([job] if job else [], "ranks"),
        *lines_of(divided, "mig_mode"),
    )
    return Signs(Certainty.SHOWN, shown[:12], {"count": count})


CAUSES = (Cause("tensor_parallel_too_wide", beyond_links), Cause("split_over_slices", over_slices))
