"""What was measured against what the parts can do: copies, matrix products, all-reduce, diagnostics, idle time."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, median

from gpuplanner.acceptance.check import MOST_LINES, Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.expected_rates import (
    Expectation,
    deciding_products,
    fastest_copies,
    fastest_products,
    is_all_reduce,
    is_between_gpus,
    is_own_kernel,
    is_unnamed,
    memory_gb_per_s,
    of_all_reduce,
    of_host_link,
    of_memory,
    of_pair,
    of_product,
    supposed_ranks,
    tells_all_reduce,
)
from gpuplanner.acceptance.saying import not_measured, of_all, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.measured import CollectiveRun
from gpuplanner.probe.evidence.record import Record
from gpuplanner.units import percent

_IDLE_PERCENT = 5


def _against(asked: Asked, have: float, wanted: Expectation | None, unit: str, source: Record) -> Judgement:
    """A measured rate against what the parts can do one way, by the shares of the rule.

    What such parts have reached has shares of its own where the rule has them.
    """
    if wanted is None:
        return _nothing_to_compare(have, unit, source)
    share, rule = have / wanted.rate, asked.rule
    of = "reached_" if wanted.reached and "reached_pass_share" in rule.thresholds else ""
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
        text(f"≥ {wanted.rate * rule[f'{of}pass_share']:.0f} {unit}"),
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


def host_copies(asked: Asked) -> Judgement | None:
    """Copies between main memory and each GPU."""
    rows = [row for row in asked.evidence.bandwidths if row.path in {"host_to_device", "device_to_host"}]
    if not rows:
        return not_measured("B")
    found = []
    for path in ("host_to_device", "device_to_host"):
        for row in fastest_copies((row for row in rows if row.path == path), asked.rule["least_bytes"]).values():
            gpu = row.target if path == "host_to_device" else row.source
            wanted = of_host_link(asked.evidence, asked.promised, gpu)
            judged = _against(asked, row.gb_per_s or 0, wanted, "GB/s", row)
            found.append(("?" if gpu is None else str(gpu), judged))
    return of_all(found, many=len({name for name, _ in found}) > 1) if found else not_measured("B")


def memory_copies(asked: Asked) -> Judgement | None:
    """Copies within each GPU's memory, read and written counted both."""
    rows = [row for row in asked.evidence.bandwidths if row.path == "device_memory"]
    if not rows:
        return not_measured("B")
    wanted = of_memory(asked.promised)
    found = []
    for (source, _), row in fastest_copies(rows).items():
        have = memory_gb_per_s(row)
        if have is None:
            judged = Judgement(
                Verdict.CANNOT_TELL,
                msg("check.rate.counting_unknown"),
                None,
                text(f"{row.gb_per_s:.1f} GB/s"),
                do=msg("check.do.would_tell", command="nvbandwidth"),
                lines=lines_of([row], "gb_per_s"),
            )
        else:
            judged = _against(asked, have, wanted, "GB/s", row)
        found.append(("?" if source is None else str(source), judged))
    return of_all(found, many=len(found) > 1) if found else not_measured("B")


def peer_copies(asked: Asked) -> Judgement | None:
    """Copies between each pair of GPUs, against the links that join that pair."""
    rows = [row for row in asked.evidence.bandwidths if is_between_gpus(row)]
    if not rows:
        return not_measured("B") if len(asked.evidence.gpus) > 1 else None
    found = []
    for (source, target), row in fastest_copies(rows, asked.rule["least_bytes"]).items():
        wanted = of_pair(asked.evidence, asked.promised, source, target)
        judged = _against(asked, row.gb_per_s or 0, wanted, "GB/s", row)
        found.append((f"{source}→{target}", judged))
    return of_all(found, many=len(found) > 1) if found else not_measured("B")


def matrices(asked: Asked) -> Judgement | None:
    """Matrix products of each number format, the fastest size and the fastest library of each GPU."""
    fastest = fastest_products(asked.evidence.matrix_rates)
    if not fastest:
        return not_measured("B")
    deciding = deciding_products(asked.evidence.matrix_rates)
    found = []
    for (index, dtype, _), rate in fastest.items():
        name, have = f"{'?' if index is None else index} {dtype or '?'}", rate.tflop_per_s or 0
        own = is_own_kernel(rate)
        if own or deciding[index, dtype] is not rate:
            judged = Judgement(
                Verdict.SKIPPED,
                msg("check.rate.own_kernel") if own else msg("check.rate.faster_way"),
                None,
                text(f"{have:.1f} TFLOP/s"),
                lines=lines_of([rate], "tflop_per_s"),
            )
        else:
            judged = _against(asked, have, of_product(asked.promised, dtype or ""), "TFLOP/s", rate)
        found.append((name, judged))
    return of_all(found, many=len(found) > 1)


def all_reduce(asked: Asked) -> Judgement | None:
    """All-reduce by its plateau at large messages, never by the mean over all sizes; every result right.

    Results are right in every collective: data went wrong between the same GPUs.
    """
    ran = asked.evidence.collectives
    if any(_wrong_results(run) for run in ran):
        return _wrong(ran)
    runs = [run for run in ran if is_all_reduce(run)]
    if not runs:
        unnamed = [run for run in ran if is_unnamed(run)]
        if unnamed:
            return _unnamed(unnamed)
        return not_measured("B, C") if (len(asked.evidence.gpus) or asked.promised.gpu_count or 0) > 1 else None
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
    wanted = of_all_reduce(asked.evidence, asked.promised, asked.rule.thresholds, run)
    if tells_all_reduce(run):
        lines = (*lines_of([run], "ranks"), *lines)[:MOST_LINES]
    if wanted is None:
        return Judgement(
            Verdict.CANNOT_TELL,
            _as_taken(asked, run, msg("check.rate.no_expectation")),
            None,
            text(f"{have:.1f} GB/s"),
            msg("check.do.promise"),
            lines=lines,
        )
    judged = _against(asked, have, wanted, "GB/s", run)
    unchecked = judged.verdict is Verdict.PASS and all(row.wrong is None for row in run.rows)
    reason = _as_taken(asked, run, msg("check.allreduce.unchecked") if unchecked else judged.reason)
    return Judgement(judged.verdict, reason, judged.expected, judged.measured, judged.do, judged.ask, lines)


def _as_taken(asked: Asked, run: CollectiveRun, reason: Message) -> Message:
    """A reason with what the run itself does not say: that it is an all-reduce, or how many GPUs took part."""
    if tells_all_reduce(run):
        return msg("check.both", first=reason, second=msg("check.allreduce.inferred", count=run.ranks or 0))
    supposed = supposed_ranks(asked.evidence, asked.promised, run)
    if supposed is not None:
        return msg("check.both", first=reason, second=msg("check.allreduce.supposed", count=supposed))
    return reason


def _wrong_results(run: CollectiveRun) -> int:
    """Wrong results by the rows, or by the line below them that counts them all."""
    return max(sum(row.wrong or 0 for row in run.rows), run.out_of_bounds or 0)


def _wrong(ran: Sequence[CollectiveRun]) -> Judgement:
    count = sum(_wrong_results(run) for run in ran)
    rows = [row for run in ran for row in run.rows if (row.wrong or 0) > 0]
    counted = [run for run in ran if (run.out_of_bounds or 0) > 0]
    return Judgement(
        Verdict.FAIL,
        msg("check.allreduce.wrong", count=count),
        text(0),
        text(count),
        msg("check.do.measure_again"),
        msg("check.ask.slow"),
        (*lines_of(counted, "out_of_bounds"), *lines_of(rows, "wrong", "bus_gb_per_s"))[:MOST_LINES],
    )


def _unnamed(runs: Sequence[CollectiveRun]) -> Judgement:
    """Cannot tell: tables that name no collective and whose rates do not tell an all-reduce."""
    run = max(runs, key=lambda each: max((row.bytes or 0 for row in each.rows), default=0))
    why = "check.allreduce.unnamed_ranks" if run.ranks is None else "check.allreduce.unnamed"
    most = max((row.bus_gb_per_s or 0 for row in run.rows), default=0)
    return Judgement(
        Verdict.CANNOT_TELL,
        msg(why),
        None,
        text(f"{most:.1f} GB/s"),
        msg("check.do.would_tell", command="all_reduce_perf -b 512M -e 8G -f 2"),
        lines=lines_of(run.rows[-2:], "bus_gb_per_s", "bytes"),
    )


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
