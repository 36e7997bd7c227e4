"""What was measured against what the parts can do: copies, matrix products, all-reduce, diagnostics, idle time."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean, median

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import NVLINK, gpu_pairs, path_matrix
from gpuplanner.acceptance.saying import not_measured, of_all, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import msg
from gpuplanner.probe.evidence.measured import Bandwidth, CollectiveRow, CollectiveRun, MatrixRate
from gpuplanner.probe.evidence.record import Record
from gpuplanner.units import percent

_LANE_GB_PER_S = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
"""One lane of PCIe one way after line coding, in 10⁹ bytes/s (PCI Express base specifications)."""
_IDLE_PERCENT = 5
_SWITCHED, _SWITCHED_LANES = 8, 12


def _against(asked: Asked, have: float, wanted: float, unit: str, source: Record, of: str = "") -> Judgement:
    """A measured rate against what the parts can do one way, by the shares of the rule.

    `of`: "reached_" where `wanted` is not the data sheet's but what such parts have reached.
    """
    share, rule = have / wanted, asked.rule
    verdict = (
        Verdict.PASS
        if share >= rule[f"{of}pass_share"]
        else Verdict.WARN
        if share >= rule[f"{of}fail_share"]
        else Verdict.FAIL
    )
    fine = verdict is Verdict.PASS
    return Judgement(
        verdict,
        msg("check.rate.reaches", share=percent(share)) if fine else msg("check.rate.below", share=percent(share)),
        text(f"≥ {wanted * rule[f'{of}pass_share']:.0f} {unit}"),
        text(f"{have:.1f} {unit}"),
        None if fine else msg("check.do.measure_again"),
        None if fine else msg("check.ask.slow"),
        lines_of([source], "gb_per_s", "tflop_per_s"),
    )


def _nothing_to_compare(have: float, unit: str, source: Record) -> Judgement:
    return Judgement(
        Verdict.CANNOT_TELL,
        msg("check.rate.no_expectation"),
        None,
        text(f"{have:.1f} {unit}"),
        msg("check.do.promise"),
        lines=lines_of([source], "gb_per_s", "tflop_per_s"),
    )


def _best(rows: Iterable[Bandwidth], least_bytes: float = 0) -> dict[tuple[int | None, int | None], Bandwidth]:
    """The fastest copy of each pair, of sizes that show the rate and not the latency."""
    best: dict[tuple[int | None, int | None], Bandwidth] = {}
    for row in rows:
        if row.gb_per_s is None or row.both_ways or (row.bytes is not None and row.bytes < least_bytes):
            continue
        pair = row.source, row.target
        if pair not in best or row.gb_per_s > (best[pair].gb_per_s or 0):
            best[pair] = row
    return best


def host_copies(asked: Asked) -> Judgement | None:
    """Copies between main memory and each GPU."""
    rows = [row for row in asked.evidence.bandwidths if row.path in {"host_to_device", "device_to_host"}]
    if not rows:
        return not_measured("B")
    found = []
    for path in ("host_to_device", "device_to_host"):
        for row in _best((row for row in rows if row.path == path), asked.rule["least_bytes"]).values():
            gpu = row.target if path == "host_to_device" else row.source
            wanted = _pcie_gb_per_s(asked, gpu)
            have = row.gb_per_s or 0
            judged = _against(asked, have, wanted, "GB/s", row) if wanted else _nothing_to_compare(have, "GB/s", row)
            found.append(("?" if gpu is None else str(gpu), judged))
    return of_all(found, many=len({name for name, _ in found}) > 1) if found else not_measured("B")


def _pcie_gb_per_s(asked: Asked, index: int | None) -> float | None:
    """What the link of a GPU carries: by the catalog, else by what card and slot say that they can do together."""
    promised = asked.promised.gpu
    if promised is not None and promised.pcie_bytes_per_s:
        return promised.pcie_bytes_per_s / 1e9
    gpus = [gpu for gpu in asked.evidence.gpus if index is None or gpu.index == index]
    for gpu in gpus:
        lane = _LANE_GB_PER_S.get(gpu.pcie_gen_max or 0)
        if lane and gpu.pcie_width_max:
            return lane * gpu.pcie_width_max
    return None


def memory_copies(asked: Asked) -> Judgement | None:
    """Copies within each GPU's memory, read and written counted both."""
    rows = [row for row in asked.evidence.bandwidths if row.path == "device_memory"]
    if not rows:
        return not_measured("B")
    promised = asked.promised.gpu
    wanted = promised.hbm_bytes_per_s / 1e9 if promised and promised.hbm_bytes_per_s else None
    found = []
    for (source, _), row in _best(rows).items():
        if row.counts_both is None:
            judged = Judgement(
                Verdict.CANNOT_TELL,
                msg("check.rate.counting_unknown"),
                None,
                text(f"{row.gb_per_s:.1f} GB/s"),
                do=msg("check.do.would_tell", command="nvbandwidth"),
                lines=lines_of([row], "gb_per_s"),
            )
        else:
            have = (row.gb_per_s or 0) * (1 if row.counts_both else 2)
            judged = _against(asked, have, wanted, "GB/s", row) if wanted else _nothing_to_compare(have, "GB/s", row)
        found.append(("?" if source is None else str(source), judged))
    return of_all(found, many=len(found) > 1) if found else not_measured("B")


def peer_copies(asked: Asked) -> Judgement | None:
    """Copies between each pair of GPUs, against the links that join that pair."""
    rows = [
        row
        for row in asked.evidence.bandwidths
        if row.path == "device_to_device" and row.p2p_enabled is not False and row.source != row.target
    ]
    if not rows:
        return not_measured("B") if len(asked.evidence.gpus) > 1 else None
    found = []
    for (source, target), row in _best(rows, asked.rule["least_bytes"]).items():
        wanted, have = _pair_gb_per_s(asked, source, target), row.gb_per_s or 0
        judged = _against(asked, have, wanted, "GB/s", row) if wanted else _nothing_to_compare(have, "GB/s", row)
        found.append((f"{source}→{target}", judged))
    return of_all(found, many=len(found) > 1) if found else not_measured("B")


def _pair_gb_per_s(asked: Asked, source: int | None, target: int | None) -> float | None:
    promised = asked.promised.gpu
    matrix = path_matrix(asked.evidence)
    pairs = gpu_pairs(matrix) if matrix else {}
    path = pairs.get((f"GPU{source}", f"GPU{target}")) or pairs.get((f"GPU{target}", f"GPU{source}"))
    linked = NVLINK.match(path) if path else None
    if promised is not None and promised.link_bytes_per_s and promised.nvlink_lanes:
        if linked:
            return promised.link_bytes_per_s / 1e9 * min(1.0, int(linked[1]) / promised.nvlink_lanes)
        # Without a matrix only eight GPUs with switches are sure to have all links between each pair.
        whole = len(asked.evidence.gpus) == _SWITCHED and promised.nvlink_lanes >= _SWITCHED_LANES
        if path is None and whole and not promised.link_is_bridge:
            return promised.link_bytes_per_s / 1e9
    return None if linked or path is None else _pcie_gb_per_s(asked, source)


def matrices(asked: Asked) -> Judgement | None:
    """Matrix products of each number format, the fastest size of each GPU."""
    rates = [rate for rate in asked.evidence.matrix_rates if rate.tflop_per_s is not None]
    if not rates:
        return not_measured("B")
    wanted = (asked.promised.gpu.flop_per_s if asked.promised.gpu else None) or {}
    reached = (asked.promised.gpu.reached_flop_per_s if asked.promised.gpu else None) or {}
    fastest: dict[tuple[int | None, str | None, str | None], MatrixRate] = {}
    for rate in rates:
        key = rate.gpu_index, rate.dtype, rate.path
        if key not in fastest or (rate.tflop_per_s or 0) > (fastest[key].tflop_per_s or 0):
            fastest[key] = rate
    found = []
    for (index, dtype, path), rate in fastest.items():
        name, have = f"{'?' if index is None else index} {dtype or '?'}", rate.tflop_per_s or 0
        most = wanted.get(dtype or "")
        if (path or "").startswith("ptx"):
            judged = Judgement(
                Verdict.SKIPPED,
                msg("check.rate.own_kernel"),
                None,
                text(f"{have:.1f} TFLOP/s"),
                lines=lines_of([rate], "tflop_per_s"),
            )
        elif dtype in reached:
            judged = _against(asked, have, reached[dtype] / 1e12, "TFLOP/s", rate, of="reached_")
        elif most:
            judged = _against(asked, have, most / 1e12, "TFLOP/s", rate)
        else:
            judged = _nothing_to_compare(have, "TFLOP/s", rate)
        found.append((name, judged))
    return of_all(found, many=len(found) > 1)


def all_reduce(asked: Asked) -> Judgement | None:
    """All-reduce by its plateau at large messages, never by the mean over all sizes; every result right."""
    runs = [run for run in asked.evidence.collectives if _is_all_reduce(run)]
    if not runs:
        return not_measured("C") if len(asked.evidence.gpus) > 1 else None
    wrong = [row for run in runs for row in run.rows if (row.wrong or 0) > 0]
    if wrong:
        return Judgement(
            Verdict.FAIL,
            msg("check.allreduce.wrong", count=sum(row.wrong or 0 for row in wrong)),
            text(0),
            text(sum(row.wrong or 0 for row in wrong)),
            msg("check.do.measure_again"),
            msg("check.ask.slow"),
            lines_of(wrong, "wrong", "bus_gb_per_s"),
        )
    run = max(runs, key=lambda each: max((row.bytes or 0 for row in each.rows), default=0))
    plateau = [
        row for row in run.rows if row.bus_gb_per_s is not None and (row.bytes or 0) >= asked.rule["plateau_bytes"]
    ]
    lines = lines_of(plateau or run.rows[-2:], "bus_gb_per_s", "bytes")
    if not plateau:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.allreduce.small"),
            do=msg("check.do.would_tell", command="all_reduce_perf -b 512M -e 8G -f 2"),
            lines=lines,
        )
    have = median(row.bus_gb_per_s or 0 for row in plateau)
    wanted = _bus_gb_per_s(asked, run)
    if wanted is None:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.rate.no_expectation"),
            None,
            text(f"{have:.1f} GB/s"),
            msg("check.do.promise"),
            lines=lines,
        )
    judged = _against(asked, have, wanted, "GB/s", run)
    unchecked = judged.verdict is Verdict.PASS and all(row.wrong is None for row in run.rows)
    reason = msg("check.allreduce.unchecked") if unchecked else judged.reason
    return Judgement(judged.verdict, reason, judged.expected, judged.measured, judged.do, judged.ask, lines)


def _is_all_reduce(run: CollectiveRun) -> bool:
    def named(record: CollectiveRun | CollectiveRow) -> bool:
        return "allreduce" in (record.collective or "").lower().replace("_", "").replace("-", "").replace(" ", "")

    return bool(run.rows) and (named(run) or any(named(row) for row in run.rows))


def _bus_gb_per_s(asked: Asked, run: CollectiveRun) -> float | None:
    """What machines of the kind reach: eight GPUs of one node by measurement, several nodes by their adapters."""
    if (run.hosts or 1) > 1:
        network = asked.promised.network_bit_per_s
        return network / 8e9 if network else None
    names = " ".join(
        [
            *run.gpu_names,
            *(gpu.name or "" for gpu in asked.evidence.gpus),
            asked.promised.gpu.name if asked.promised.gpu else "",
        ]
    ).upper()
    module = "SXM" in names or "HBM3" in names or "B200" in names
    if run.ranks == 8 and module:
        for word in ("B200", "H200", "H100", "A100"):
            if word in names:
                return asked.rule["h100_gb_per_s" if word == "H200" else f"{word.lower()}_gb_per_s"]
    return None


def diagnostics(asked: Asked) -> Judgement | None:
    """All tests of DCGM passed."""
    tests = [test for test in asked.evidence.diagnostics if (test.tool or "dcgmi").startswith("dcgm") and test.result]
    if not tests:
        return not_measured("C")

    def having(*words: str) -> list[Record]:
        return [test for test in tests if (test.result or "").strip().lower().startswith(words)]

    failed, warned, passed = having("fail", "error"), having("warn"), having("pass", "healthy")
    names = [test.test or "?" for test in tests if test in failed or test in warned]
    measured = text(", ".join(dict.fromkeys(names)) or f"{len(passed)} / {len(tests)}")
    if failed:
        return Judgement(
            Verdict.FAIL,
            msg("check.dcgm.failed", count=len(failed)),
            text("Pass"),
            measured,
            msg("check.do.watch"),
            msg("check.ask.health"),
            lines_of(failed, "result", "test", "said"),
        )
    if warned:
        return Judgement(
            Verdict.WARN,
            msg("check.dcgm.warned", count=len(warned)),
            text("Pass"),
            measured,
            msg("check.do.watch"),
            msg("check.ask.health"),
            lines_of(warned, "result", "test", "said"),
        )
    if not passed:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.dcgm.skipped"),
            text("Pass"),
            measured,
            msg("check.do.would_tell", command="dcgmi diag -r 2"),
            lines=lines_of(tests, "result", "test"),
        )
    return Judgement(
        Verdict.PASS,
        msg("check.dcgm.passed", count=len(passed)),
        text("Pass"),
        measured,
        lines=lines_of(passed, "result", "test"),
    )


def busy(asked: Asked) -> Judgement | None:
    """The GPUs work without pauses, over several samples of a time in which they should."""
    shares: dict[int | None, list[float]] = defaultdict(list)
    for sample in asked.evidence.samples:
        if sample.utilization_percent is not None:
            # Video is work too, and leaves the multiprocessors idle.
            video = max(sample.encoder_percent or 0, sample.decoder_percent or 0)
            shares[sample.gpu_index].append(max(sample.utilization_percent, video))
    enough = {gpu: values for gpu, values in shares.items() if len(values) > 1}
    if not enough or all(max(values) < _IDLE_PERCENT for values in enough.values()):
        return Judgement(Verdict.SKIPPED, msg("check.busy.nothing_ran"))
    rule, found = asked.rule, []
    for gpu, values in enough.items():
        mean = fmean(values)
        if max(values) < _IDLE_PERCENT:
            continue
        verdict = (
            Verdict.PASS
            if mean >= rule["pass_percent"]
            else Verdict.WARN
            if mean >= rule["warn_percent"]
            else Verdict.FAIL
        )
        fine = verdict is Verdict.PASS
        samples = [sample for sample in asked.evidence.samples if sample.gpu_index == gpu]
        found.append(
            (
                "?" if gpu is None else str(gpu),
                Judgement(
                    verdict,
                    msg("check.busy.works") if fine else msg("check.busy.waits"),
                    text(f"≥ {percent(rule['pass_percent'] / 100)}"),
                    text(percent(mean / 100)),
                    None if fine else msg("check.do.find_gaps"),
                    lines=lines_of(samples[:4], "utilization_percent"),
                ),
            )
        )
    return of_all(found, many=len(found) > 1)


CHECKS = (
    Check("bw.h2d", host_copies),
    Check("bw.d2d", memory_copies),
    Check("bw.p2p", peer_copies),
    Check("flops", matrices),
    Check("allreduce", all_reduce),
    Check("dcgm", diagnostics),
    Check("trace", busy),
)
