"""The chart of what disks read and write. Measures and judges nothing."""

from gpuplanner.acceptance.expected_rates import is_read_in_a_row, of_disk_reads
from gpuplanner.machines.rates.chart import Across, Line, Point, RateChart, Role, foreign
from gpuplanner.machines.rates.known import Known
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import DiskRate

_MOST_JOBS = 12


def disks(evidence: Evidence, known: Known) -> RateChart | None:
    """What disks read and write, each kind of job by its fastest; what went through the page cache apart."""
    best: dict[tuple[str, bool], DiskRate] = {}
    for rate in evidence.disk_rates:
        key = _job(rate), rate.direct is False
        if rate.gb_per_s is not None and (key not in best or rate.gb_per_s > (best[key].gb_per_s or 0.0)):
            best[key] = rate
    if not best:
        return None
    jobs = [(_called(*key), rate) for key, rate in list(best.items())[:_MOST_JOBS]]
    expected = of_disk_reads(known.promised, known.rules["disk.speed"]["least_gb_per_s"])
    wanted = tuple(
        Point(float(at), expected.rate, name=name) for at, (name, rate) in enumerate(jobs) if is_read_in_a_row(rate)
    )
    points = tuple(Point(float(at), rate.gb_per_s or 0.0, name=name) for at, (name, rate) in enumerate(jobs))
    where = foreign(", ".join(dict.fromkeys(rate.path or "" for _, rate in jobs if rate.path)))
    lines = [Line(msg("rates.line.measured"), Role.MEASURED, points, where)]
    absent: list[Message] = []
    if wanted:
        lines.insert(0, Line(msg("rates.line.expected"), Role.EXPECTED, wanted, expected.source))
    else:
        absent.append(msg("rates.absent.disk"))
    if any(cached for _, cached in best):
        absent.append(msg("rates.absent.cache"))
    title, note, labels = msg("rates.chart.disks"), msg("rates.note.disks"), tuple(name for name, _ in jobs)
    return RateChart("disks", title, note, Across.NAMES, "GB/s", tuple(lines), labels, tuple(absent), "disk.speed")


def _job(rate: DiskRate) -> str:
    operation = rate.operation or rate.job or "?"
    return foreign(f"{operation} {_block(rate.block_bytes)}".strip())


def _called(job: str, cached: bool) -> MessageValue:
    return msg("rates.job.cached", job=job) if cached else job


def _block(size: float | None) -> str:
    if not size:
        return ""
    return f"{size / 2**20:,.0f} MiB" if size >= 2**20 else f"{size / 2**10:,.0f} KiB"
