"""The chart of what disks read and write. Measures and judges nothing."""

from gpuplanner.acceptance.expected_rates import is_read_in_a_row, of_disk_reads
from gpuplanner.machines.rates.chart import Across, Line, Point, RateChart, Role, foreign
from gpuplanner.machines.rates.known import Known
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import DiskRate

_MOST_JOBS = 12


def disks(evidence: Evidence, known: Known) -> RateChart | None:
    """What disks read and write, each kind of job by its fastest."""
    best: dict[str, DiskRate] = {}
    for rate in evidence.disk_rates:
        name = _job(rate)
        if rate.gb_per_s is not None and (name not in best or rate.gb_per_s > (best[name].gb_per_s or 0.0)):
            best[name] = rate
    if not best:
        return None
    jobs = dict(list(best.items())[:_MOST_JOBS])
    at = {name: float(place) for place, name in enumerate(jobs)}
    expected = of_disk_reads(known.promised, known.rules["disk.speed"]["least_gb_per_s"])
    reads = [name for name, rate in jobs.items() if is_read_in_a_row(rate)]
    lines = [
        Line(
            msg("rates.line.measured"),
            Role.MEASURED,
            tuple(Point(at[name], rate.gb_per_s or 0.0, name=name) for name, rate in jobs.items()),
            foreign(", ".join(dict.fromkeys(rate.path or "" for rate in jobs.values() if rate.path))),
        )
    ]
    absent: list[Message] = []
    if reads:
        wanted = tuple(Point(at[name], expected.rate, name=name) for name in reads)
        lines.insert(0, Line(msg("rates.line.expected"), Role.EXPECTED, wanted, expected.source))
    else:
        absent.append(msg("rates.absent.disk"))
    if any(rate.direct is False for rate in jobs.values()):
        absent.append(msg("rates.absent.cache"))
    title, note = msg("rates.chart.disks"), msg("rates.note.disks")
    return RateChart("disks", title, note, Across.NAMES, "GB/s", tuple(lines), tuple(jobs), tuple(absent), "disk.speed")


def _job(rate: DiskRate) -> str:
    operation = rate.operation or rate.job or "?"
    return foreign(f"{operation} {_block(rate.block_bytes)}".strip())


def _block(size: float | None) -> str:
    if not size:
        return ""
    return f"{size / 2**20:,.0f} MiB" if size >= 2**20 else f"{size / 2**10:,.0f} KiB"
