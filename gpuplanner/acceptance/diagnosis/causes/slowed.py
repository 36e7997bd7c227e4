"""GPUs that run slower than they can: heat, supply, a limit; by what holds their clocks, and by samples of them."""

from collections import defaultdict
from statistics import median

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.checks.operation import HW_SLOWDOWN, HW_THERMAL, POWER_BRAKE, SW_POWER, SW_THERMAL
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs, said
from gpuplanner.acceptance.saying import label, named, text
from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Sample
from gpuplanner.probe.evidence.record import Record, Seen
from gpuplanner.units import percent


def _held(looking: Looking, bits: int) -> tuple[list[str], tuple[Seen, ...]]:
    """The GPUs that reasons hold back, now, in samples, or while something was measured; with the lines."""
    names: dict[str, None] = {}
    records: list[Record] = []
    called = _labels(looking.evidence)
    for gpu in looking.evidence.gpus:
        if (gpu.throttle_reasons or 0) & bits:
            names.setdefault(label(gpu))
            records.append(gpu)
    for index, record, reasons in (
        *((sample.gpu_index, sample, sample.throttle_reasons) for sample in looking.evidence.samples),
        *((rate.gpu_index, rate, rate.throttle_reasons) for rate in looking.evidence.matrix_rates),
        # Of a copy from or to the host, the reasons are those of the one GPU that it names.
        *(
            (row.target if row.source is None else row.source, row, row.throttle_reasons)
            for row in looking.evidence.bandwidths
        ),
        *((row.target, row, row.target_throttle_reasons) for row in looking.evidence.bandwidths),
    ):
        if (reasons or 0) & bits:
            names.setdefault("?" if index is None else called.get(index, str(index)))
            records.append(record)
    return list(names), lines_of(records, "throttle_reasons", "target_throttle_reasons")


def _labels(evidence: Evidence) -> dict[int, str]:
    """What the GPUs of a machine are called, by the index that samples and measurements say.

    A list without indices, as `nvidia-smi -q` prints it, has them in the order of the bus; where the samples are of as
    many GPUs as it has, they are the same ones. Else nobody knows which one an index means.
    """
    known = {gpu.index: label(gpu) for gpu in evidence.gpus if gpu.index is not None}
    if known:
        return known
    listed = sorted((gpu for gpu in evidence.gpus if gpu.pci_bus_id), key=lambda gpu: gpu.pci_bus_id or "")
    sampled = {sample.gpu_index for sample in evidence.samples} - {None}
    measured = {row.gpu_index for row in evidence.matrix_rates} - {None}
    copied = {end for row in evidence.bandwidths for end in (row.source, row.target)} - {None}
    all_of_them = set(range(len(evidence.gpus)))
    if len(listed) == len(all_of_them) and (sampled | measured | copied) == all_of_them:
        return {at: label(gpu) for at, gpu in enumerate(listed)}
    return {}


def heat(looking: Looking) -> Signs | None:
    """Heat holds the clocks back."""
    hardware, lines = _held(looking, HW_THERMAL)
    software, more = _held(looking, SW_THERMAL)
    gpus = hardware or software
    judgement = looking.failed("temp")
    if not gpus and looking.failed("temp", "check.temp.at_limit") is None:
        return None
    shown = (*lines, *more, *(judgement.lines if judgement else ()))
    return Signs(
        Certainty.SHOWN,
        shown[:12],
        {"gpus": text(named(gpus) if gpus else "–")},
        sentence="cause" if gpus else "hot",
        fix=msg("check.do.cooling"),
        ask=msg("check.ask.throttle"),
    )


def brake(looking: Looking) -> Signs | None:
    """The machine's supply pulls the brake, or the board slows down without saying that it is heat."""
    braked, lines = _held(looking, POWER_BRAKE)
    if not braked:
        hot, _ = _held(looking, HW_THERMAL)
        braked, lines = _held(looking, HW_SLOWDOWN)
        if not braked or hot:
            return None
    return Signs(
        Certainty.SHOWN,
        lines,
        {"gpus": text(named(braked))},
        fix=msg("check.do.power_supply"),
        ask=msg("check.ask.throttle"),
    )


def capped(looking: Looking) -> Signs | None:
    """The platform caps the draw far below the limit that the GPU reports."""
    judgement = looking.failed("power.limit", "check.power.capped")
    if judgement is not None:
        return Signs(
            Certainty.SHOWN,
            judgement.lines,
            {"draw": said(judgement.measured), "limit": said(judgement.expected)},
            fix=judgement.do,
            ask=judgement.ask,
        )
    share = looking.rule["capped_share"]
    for gpu in looking.evidence.gpus:
        busy = [
            sample
            for sample in looking.evidence.samples
            if sample.gpu_index == gpu.index
            and (sample.utilization_percent or 0) >= looking.rule["busy_percent"]
            and (sample.throttle_reasons or 0) & SW_POWER
            and sample.power_w is not None
        ]
        if busy and gpu.power_limit_w and max(each.power_w or 0 for each in busy) < share * gpu.power_limit_w:
            return Signs(
                Certainty.SHOWN,
                lines_of([*busy[:3], gpu], "power_w", "throttle_reasons", "power_limit_w")[:12],
                {
                    "draw": text(f"{max(each.power_w or 0 for each in busy):.0f} W"),
                    "limit": text(f"{gpu.power_limit_w:.0f} W"),
                },
                fix=msg("check.do.power_supply"),
                ask=msg("check.ask.limits"),
            )
    return None


def low_clocks(looking: Looking) -> Signs | None:
    """At work the clock is far below what the GPU can do, and no reason that was read says why."""
    share = looking.rule["clock_share"]
    for gpu in looking.evidence.gpus:
        most = gpu.clock_max_sm_mhz or gpu.clock_max_graphics_mhz
        if not most:
            continue
        busy = _busy(looking, gpu.index)
        clocks = [sample.clock_sm_mhz for sample in busy if sample.clock_sm_mhz]
        records: list[Record] = list(busy[:4])
        if not clocks and (gpu.utilization_percent or 0) >= looking.rule["busy_percent"]:
            now = gpu.clock_sm_mhz or gpu.clock_graphics_mhz
            clocks, records = ([now] if now else []), []
        if clocks and median(clocks) < share * most:
            return Signs(
                Certainty.LIKELY,
                lines_of([gpu, *records], "clock_sm_mhz", "clock_graphics_mhz", "clock_max_sm_mhz",
                         "clock_max_graphics_mhz", "utilization_percent")[:12],
                {
                    "gpu": text(label(gpu)),
                    "clock": text(f"{median(clocks):.0f} MHz"),
                    "most": text(f"{most:.0f} MHz"),
                    "share": text(percent(median(clocks) / most)),
                },
                ask=msg("check.ask.throttle"),
            )  # fmt: skip
    return None


def _busy(looking: Looking, index: int | None) -> list[Sample]:
    by_gpu: defaultdict[int | None, list[Sample]] = defaultdict(list)
    for sample in looking.evidence.samples:
        if (sample.utilization_percent or 0) >= looking.rule["busy_percent"]:
            by_gpu[sample.gpu_index].append(sample)
    return by_gpu[index]


CAUSES = (
    Cause("heat", heat),
    Cause("power_brake", brake),
    Cause("power_capped", capped),
    Cause("low_clocks", low_clocks),
)
