"""A processor that its firmware divides into several NUMA nodes, so that GPUs of one socket lie far apart."""

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.gpu_traits import NVLINK, gpu_pairs, is_guest, matrix_lines, path_matrix

_FAR = {"SYS", "NODE"}


def nodes_per_socket(looking: Looking) -> Signs | None:
    """More NUMA nodes than sockets, with several GPUs that no NVLink joins throughout."""
    cpu, evidence = looking.evidence.cpu, looking.evidence
    if cpu is None or not cpu.sockets or not cpu.numa_nodes or is_guest(evidence):
        return None
    each = cpu.numa_nodes // cpu.sockets
    matrix = path_matrix(evidence)
    pairs = gpu_pairs(matrix) if matrix else {}
    if each < 2 or (pairs and all(NVLINK.match(path) for path in pairs.values())):
        return None
    if not pairs and len(evidence.gpus) < 2:
        return None
    far = bool(_FAR & set(pairs.values()))
    return Signs(
        Certainty.LIKELY if far else Certainty.POSSIBLE,
        (*lines_of([cpu], "numa_nodes", "sockets"), *(matrix_lines(matrix) if matrix else ()))[:12],
        {"each": each},
    )


def across_sockets(looking: Looking) -> Signs | None:
    """Some pairs of GPUs meet only across sockets, and no NVLink joins them."""
    matrix = path_matrix(looking.evidence)
    pairs = gpu_pairs(matrix) if matrix else {}
    far = [pair for pair, path in pairs.items() if path == "SYS"]
    near = [pair for pair, path in pairs.items() if path in {"PIX", "PXB", "PHB", "NODE"} or NVLINK.match(path)]
    # That all are far is the topology check's own failure; that half are is how two sockets come.
    if matrix is None or not far or not near:
        return None
    return Signs(
        Certainty.POSSIBLE,
        matrix_lines(matrix),
        {"count": len(far), "all": len(pairs)},
    )


CAUSES = (Cause("nodes_per_socket", nodes_per_socket), Cause("across_sockets", across_sockets))
