"""What rates the parts of a machine should reach, and where that is known from. Judges and measures nothing.

The checks hold what was measured against it, and the charts draw it beside what was measured.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpuplanner.acceptance.gpu_traits import NVLINK, gpu_pairs, path_matrix
from gpuplanner.acceptance.promised import Promised
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Bandwidth, CollectiveRow, CollectiveRun, DiskRate, MatrixRate

_TELLING_GB_PER_S = 5.0
"""Of a row whose two decimals are fine enough: the factors of 8 and of 16 GPUs are 7 % apart."""
_ROUNDED = 0.006
"""Half of the last decimal printed, and a little for decimals of three digits alone."""
_LANE_GB_PER_S = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
"""One lane of PCIe one way after line coding, in 10⁹ bytes/s (PCI Express base specifications)."""
_SWITCHED, _SWITCHED_LANES = 8, 12
_NODE = 8
"""GPUs of the machines whose all-reduce is known."""
_NODES_OF = {"B200": "b200_gb_per_s", "H200": "h100_gb_per_s", "H100": "h100_gb_per_s", "A100": "a100_gb_per_s"}
"""By a word of the GPU's name, the threshold of the check that says what eight of it reach; the newest first."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A rate that should be reached, in 10⁹ bytes/s one way or 10¹² FLOP/s, and where it is known from.

    `reached`: that it was measured on such parts, and is no data sheet's.
    """

    rate: float
    source: Message
    reached: bool = False


def fastest_copies(rows: Iterable[Bandwidth], least_bytes: float = 0) -> dict[tuple[int | None, int | None], Bandwidth]:
    """The fastest copy of each pair, of sizes that show the rate and not the latency.

    Not from or to memory that the system may move: the driver copies that once more on its way.
    """
    best: dict[tuple[int | None, int | None], Bandwidth] = {}
    for row in rows:
        if row.gb_per_s is None or row.both_ways or (row.bytes is not None and row.bytes < least_bytes):
            continue
        if row.method == "pageable":
            continue
        pair = row.source, row.target
        if pair not in best or row.gb_per_s > (best[pair].gb_per_s or 0):
            best[pair] = row
    return best


def memory_gb_per_s(row: Bandwidth) -> float | None:
    """The rate of a copy within a GPU's memory, read and written counted both; None where nobody says how it counts."""
    return None if row.counts_both is None else (row.gb_per_s or 0) * (1 if row.counts_both else 2)


def is_between_gpus(row: Bandwidth) -> bool:
    """Whether a copy went from one GPU to another over the links that join them."""
    return row.path == "device_to_device" and row.p2p_enabled is not False and row.source != row.target


def fastest_products(
    rates: Iterable[MatrixRate],
) -> dict[tuple[int | None, str | None, str | None], MatrixRate]:
    """The fastest matrix product of each GPU, format and way of multiplying. Attention is told, and is no product."""
    fastest: dict[tuple[int | None, str | None, str | None], MatrixRate] = {}
    for rate in rates:
        key = rate.gpu_index, rate.dtype, rate.path
        if rate.path == "torch_sdpa":
            continue
        if rate.tflop_per_s is not None and (key not in fastest or rate.tflop_per_s > (fastest[key].tflop_per_s or 0)):
            fastest[key] = rate
    return fastest


def is_own_kernel(rate: MatrixRate) -> bool:
    """Whether our own small kernel multiplied, which does not reach what libraries do."""
    return (rate.path or "").startswith("ptx")


def deciding_products(rates: Iterable[MatrixRate]) -> dict[tuple[int | None, str | None], MatrixRate]:
    """The product that speaks for a GPU in a format: the fastest way there is of those through a library.

    What the hardware can do is what the best of them reaches; a slower one says something of its own version.
    """
    best: dict[tuple[int | None, str | None], MatrixRate] = {}
    for rate in fastest_products(rates).values():
        key = rate.gpu_index, rate.dtype
        if not is_own_kernel(rate) and (key not in best or (rate.tflop_per_s or 0) > (best[key].tflop_per_s or 0)):
            best[key] = rate
    return best


def is_all_reduce(run: CollectiveRun) -> bool:
    """Whether a run of collectives holds all-reduces, as it says or as its rates tell."""

    def named(record: CollectiveRun | CollectiveRow) -> bool:
        return "allreduce" in (record.collective or "").lower().replace("_", "").replace("-", "").replace(" ", "")

    return bool(run.rows) and (named(run) or any(named(row) for row in run.rows) or tells_all_reduce(run))


def is_unnamed(run: CollectiveRun) -> bool:
    """Whether a run names no collective although it may be an all-reduce.

    Neither what its rows do speaks against it, nor a bus bandwidth no higher than the other, as others have it.
    """
    silent = run.collective is None and all(row.collective is None for row in run.rows)
    sums = all(row.operation in {None, "sum"} for row in run.rows)
    # Of two ranks the ratio is 1 of an all-reduce, too.
    least = 1 + _ROUNDED if (run.ranks or 0) > 2 else 1 - _ROUNDED
    return bool(run.rows) and silent and sums and all(bus > least * algorithm for bus, algorithm in _telling(run))


def tells_all_reduce(run: CollectiveRun) -> bool:
    """Whether the rates of an unnamed run tell an all-reduce: sums whose bus bandwidth is 2(n-1)/n of the other.

    Of two ranks the ratio is 1, as of a reduce and others: they tell nothing. Factors of each collective: nccl-tests,
    doc/PERFORMANCE.md.
    """
    sums = all(row.operation == "sum" for row in run.rows)
    return is_unnamed(run) and sums and (run.ranks or 0) > 2 and reaches_all_of(run, run.ranks or 0) is True


def reaches_all_of(run: CollectiveRun, ranks: int) -> bool | None:
    """Whether both bandwidths of each row stand to each other as in an all-reduce of so many ranks.

    None where no row is fast enough to show it: they are printed with two decimals.
    """
    factor, rates = 2 * (ranks - 1) / ranks, _telling(run)
    if not rates:
        return None
    return all(abs(bus - factor * algorithm) <= _ROUNDED * (1 + factor) for bus, algorithm in rates)


def _telling(run: CollectiveRun) -> list[tuple[float, float]]:
    """Both bandwidths of the rows fast enough to compare them, the bus's first."""
    return [
        (row.bus_gb_per_s, row.algorithm_gb_per_s)
        for row in run.rows
        if row.bus_gb_per_s is not None
        and row.algorithm_gb_per_s is not None
        and row.algorithm_gb_per_s >= _TELLING_GB_PER_S
    ]


def is_read_in_a_row(rate: DiskRate) -> bool:
    """Whether a job reads one block after the other; one that says nothing is taken for such."""
    return (rate.operation or "read") in {"read", "seqread"}


def of_disk_reads(promised: Promised, usual_gb_per_s: float) -> Expectation:
    """What disks read one block after the other: as promised, else what is usual by the rule of the check."""
    if promised.disk_bytes_per_s:
        return Expectation(promised.disk_bytes_per_s / 1e9, msg("rates.source.disk_promised"))
    return Expectation(usual_gb_per_s, msg("rates.source.disk_rule"))


def of_host_link(evidence: Evidence, promised: Promised, index: int | None) -> Expectation | None:
    """What the link of a GPU carries: by the catalog, else by what card and slot say that they can do together."""
    gpu = promised.gpu
    if gpu is not None and gpu.pcie_bytes_per_s:
        return Expectation(gpu.pcie_bytes_per_s / 1e9, msg("rates.source.pcie", gpu=gpu.name))
    for each in evidence.gpus:
        generation, width = each.pcie_gen_max or 0, each.pcie_width_max
        lane = _LANE_GB_PER_S.get(generation)
        if (index is None or each.index == index) and lane and width:
            return Expectation(lane * width, msg("rates.source.slot", generation=generation, width=width))
    return None


def of_pair(evidence: Evidence, promised: Promised, source: int | None, target: int | None) -> Expectation | None:
    """What the links carry that join two GPUs; None where nothing tells which these are."""
    gpu = promised.gpu
    matrix = path_matrix(evidence)
    pairs = gpu_pairs(matrix) if matrix else {}
    path = pairs.get((f"GPU{source}", f"GPU{target}")) or pairs.get((f"GPU{target}", f"GPU{source}"))
    linked = NVLINK.match(path) if path else None
    if gpu is not None and gpu.link_bytes_per_s and gpu.nvlink_lanes:
        if linked:
            share = min(1.0, int(linked[1]) / gpu.nvlink_lanes)
            said = msg("rates.source.lanes", gpu=gpu.name, lanes=int(linked[1]), all=gpu.nvlink_lanes)
            return Expectation(gpu.link_bytes_per_s / 1e9 * share, said)
        # Without a matrix only eight GPUs with switches are sure to have all links between each pair.
        whole = len(evidence.gpus) == _SWITCHED and gpu.nvlink_lanes >= _SWITCHED_LANES
        if path is None and whole and not gpu.link_is_bridge:
            return Expectation(gpu.link_bytes_per_s / 1e9, msg("rates.source.link", gpu=gpu.name))
    return None if linked or path is None else of_host_link(evidence, promised, source)


def of_memory(promised: Promised) -> Expectation | None:
    """What a GPU's own memory carries, read and written counted both."""
    gpu = promised.gpu
    if gpu is None or not gpu.hbm_bytes_per_s:
        return None
    return Expectation(gpu.hbm_bytes_per_s / 1e9, msg("rates.source.memory", gpu=gpu.name))


def of_product(promised: Promised, dtype: str) -> Expectation | None:
    """What matrix products of a format reach, in 10¹² FLOP/s: as anybody found them, else by the data sheet."""
    gpu = promised.gpu
    if gpu is None:
        return None
    if found := (gpu.reached_flop_per_s or {}).get(dtype):
        return Expectation(found / 1e12, msg("rates.source.reached", gpu=gpu.name), reached=True)
    peak = (gpu.flop_per_s or {}).get(dtype)
    return Expectation(peak / 1e12, msg("rates.source.peak", gpu=gpu.name)) if peak else None


def of_all_reduce(
    evidence: Evidence, promised: Promised, known_gb_per_s: Mapping[str, float], run: CollectiveRun
) -> Expectation | None:
    """The bus bandwidth that machines of the kind reach with large messages: eight GPUs of one node by measurement,
    several nodes by their adapters. `known_gb_per_s`: the thresholds of the check.
    """
    if (run.hosts or 1) > 1:
        network = promised.between_nodes_bit_per_s
        return Expectation(network / 8e9, msg("rates.source.network")) if network else None
    names = " ".join([
        *run.gpu_names,
        *(gpu.name or "" for gpu in evidence.gpus),
        promised.gpu.name if promised.gpu else "",
    ]).upper()  # fmt: skip
    ranks = run.ranks or supposed_ranks(evidence, promised, run)
    module = "SXM" in names or "HBM3" in names or "B200" in names
    if ranks == _NODE and module:
        for word, threshold in _NODES_OF.items():
            if word in names:
                said = msg("rates.source.nodes", count=_NODE, gpu=word)
                return Expectation(known_gb_per_s[threshold], said, reached=True)
    return None


def supposed_ranks(evidence: Evidence, promised: Promised, run: CollectiveRun) -> int | None:
    """How many GPUs took part in a run that does not say it: all that the machine has, or that were promised of it.

    None where the run says it, where the rates of the run speak against it, and where several nodes were promised.
    """
    count = len(evidence.gpus) or promised.gpu_count
    if run.ranks is not None or run.hosts is not None or not count or count < 2 or (promised.nodes or 1) > 1:
        return None
    return None if reaches_all_of(run, count) is False else count
