"""A person's own measurement of the parts of a machine: its GPUs' memory and products, the link to the host, its disks.

What the engine takes such parts to reach is multiplied with what these reached beside it, before anything is estimated,
and estimates of times are as much surer as they no longer depend on it. Pure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.engine.formulas.gemm import matrix_flop_per_s
from gpuplanner.engine.links import host_link_bytes_per_s
from gpuplanner.engine.machine import Machine, MeasuredParts
from gpuplanner.engine.own_links import FETCHED, WITH_STEP, passed_over
from gpuplanner.engine.own_ranges import narrowed
from gpuplanner.engine.ranges import Spread
from gpuplanner.engine.serving_figures import spread_of
from gpuplanner.facts import Fact, MissingFactError, Source
from gpuplanner.figures import Certainty, Origin
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Unit, digits
from gpuplanner.workload.reads_data import ReadsData, Storage

MEMORY, PRODUCT = "memory_bytes_per_s", "product_flop_per_s"
HOST_LINK, DISK = "host_link_bytes_per_s", "disk_bytes_per_s"
RATES = (MEMORY, PRODUCT, HOST_LINK, DISK)
"""What is measured: a GPU's memory, read and written; a product in 16 bits; copies to a GPU; reading own drives."""
UNITS = {MEMORY: Unit.BYTE_PER_S, PRODUCT: Unit.FLOP_PER_S, HOST_LINK: Unit.BYTE_PER_S, DISK: Unit.BYTE_PER_S}
SIDES = ("product_rows", "product_columns", "product_depth")
"""The shape of the product, where it is known."""
USUAL_SIDE, SIDE_IS = 8192.0, (1024.0, 1e6)
"""Of a product that shows what a GPU can do: where it is not known, and between which it lies."""
QUICKEST_DRIVES = 1e12
"""Bytes a second that no drives of one node come near."""
SLOWEST, QUICKEST = 1 / 20.0, 1.1
"""Of what a data sheet says. A part with a fault may be slower by so much; none is quicker than it is built to be."""
OF_PARTS = msg("own.origin_parts")
PART_FACTOR = "own_rate_factor"
"""What formulas call the factor of a measured part."""
OFFLOADED = "offload"
"""The part of a step in which states that lie in host memory are updated."""
READING, PRODUCTS = "time per token of one request", "matrix multiplication"
"""The families whose ranges say how far off the engine is with a part: a step that does nothing but read, a product."""


@dataclass(frozen=True, slots=True)
class OwnParts:
    """Measured rates of the parts of a node, the slowest of equal ones, by the names in `RATES` and `SIDES`.

    `site`: one such node as `own_measurements.site_of` has it; `used`: the person has not switched it off.
    """

    id: str
    name: str
    date: str
    site: str
    rates: Mapping[str, float]
    used: bool = True

    @property
    def shown(self) -> dict[str, float]:
        """The rates of parts, without the shape of the product."""
        return {name: self.rates[name] for name in RATES if name in self.rates}

    def factors(self, gpu: Gpu, efficiencies: Efficiencies) -> dict[str, float]:
        """Of the rates that the engine expects one of, what was measured over it.

        Raises InputError where nothing of it was measured, or what cannot be of this GPU.
        """
        if self.rates.get(DISK, 0.0) > QUICKEST_DRIVES:
            raise InputError(msg("own.parts.disk_too_quick", file=self.name))
        found = {}
        for name, measured in self.rates.items():
            known = None if name not in RATES or name == DISK else _expected(name, self.rates, gpu, efficiencies)
            if known is None:
                continue
            expected, sheet = known
            if not SLOWEST <= measured / sheet <= QUICKEST:
                share = digits(min(measured / sheet, 1e6), 2)
                raise InputError(msg("own.parts.too_far", file=self.name, what=msg(f"own.parts.{name}"), factor=share))
            found[name] = measured / expected
        if not found and DISK not in self.rates:
            raise InputError(msg("own.parts.nothing", file=self.name))
        return found


def _expected(
    name: str, rates: Mapping[str, float], gpu: Gpu, efficiencies: Efficiencies
) -> tuple[float, float] | None:
    """What the engine takes such a part to reach, and the data sheet's rate; None where either is not known."""
    try:
        if name == HOST_LINK:
            sheet = host_link_bytes_per_s(gpu)
            return sheet * efficiencies.constants("servers", "host link")["pcie_efficiency"], sheet
        hbm, bandwidth = efficiencies.find("hbm", gpu), gpu.value(GpuProperty.HBM_BYTES_PER_S)
        if name == MEMORY:
            return bandwidth * hbm["share"], bandwidth
        peak = gpu.known(GpuProperty.BF16_FLOP_PER_S) or gpu.known(GpuProperty.FP16_FLOP_PER_S)
        if peak is None:
            return None
        gemm = efficiencies.find("gemm", gpu, "kernel bf16")
        rows, columns, depth = (min(max(rates.get(side, USUAL_SIDE), SIDE_IS[0]), SIDE_IS[1]) for side in SIDES)
        rate = matrix_flop_per_s(
            rows, columns, depth, 16.0, peak.value, gemm["utilisation"], gemm["padding_tokens"], bandwidth,
            hbm["share"], gemm["overlap_loss"], gemm["floor_s"],
        )  # fmt: skip
        return float(rate), peak.value
    except MissingFactError:
        return None


def with_own_parts(
    machine: Machine, own: Iterable[object], site: str, efficiencies: Efficiencies
) -> tuple[Machine, tuple[Message, ...]]:
    """The machine with the latest measurement of its parts, and what is said of those that do not count.

    `site`: of one node of it: what was measured of a node is taken for each of several.
    """
    here = sorted(
        (each for each in own if isinstance(each, OwnParts) and each.site == site),
        key=lambda each: (each.date, each.id),
        reverse=True,
    )
    said: tuple[Message, ...] = ()
    for each in here:
        try:
            factors = each.factors(machine.gpu, efficiencies)
        except (InputError, MissingFactError) as fault:
            said = (*said, passed_over(each.name, fault))
            continue
        host = machine.host
        if DISK in each.rates:
            host = replace(host, local_bytes_per_s=each.rates[DISK])
        parts = MeasuredParts(factors.get(MEMORY), factors.get(PRODUCT), factors.get(HOST_LINK), each.name, each.date)
        return replace(machine, host=host, parts=parts), said
    return machine, said


def with_parts_said(made: Estimate, plain: Machine, said: Sequence[Message], efficiencies: Efficiencies) -> Estimate:
    """The estimate on a machine whose parts were measured, with what is said of it and the ranges that it leaves.

    `plain`: the machine without it; `said`: of measurements that do not count.
    """
    machine = made.machine
    if machine.parts is None:
        return replace(made, remarks=(*made.remarks, *said)) if said else made
    told = list(said)
    timed = made.plan.workload.kind in WITH_STEP
    parts = machine.parts
    factors = {MEMORY: parts.memory, PRODUCT: parts.products, HOST_LINK: parts.host_link}
    told += [
        msg("own.parts.applied", file=parts.file, what=msg(f"own.parts.{name}"), factor=f"{factor:.2f}")
        for name, factor in factors.items()
        if factor is not None and timed and (name != HOST_LINK or _fetches(made))
    ]
    if _reads_drives(made.plan.workload) and machine.host.local_bytes_per_s != plain.host.local_bytes_per_s:
        told.append(msg("own.parts.disk_applied", file=parts.file))
    if len(told) == len(said):
        return replace(made, remarks=(*made.remarks, *said)) if said else made
    total = sum(part.figure.value for part in made.time)
    settled = [
        (sum(part.figure.value for part in made.time if part.limit is limit) / total, spread.low, spread.high)
        for limit, spread in _spreads(machine.gpu, parts, efficiencies)
        if timed and total
    ]
    if settled:
        follows = WITH_STEP[made.plan.workload.kind]
        made = narrowed(made, settled, follows, msg("own.parts.why", file=parts.file), efficiencies)
    return replace(made, remarks=(*made.remarks, *told), own=origin_of(parts))


def _spreads(gpu: Gpu, parts: MeasuredParts, efficiencies: Efficiencies) -> Iterator[tuple[Limit, Spread]]:
    """How far off the engine is with each of the parts that were measured."""
    if parts.memory is not None:
        yield Limit.HBM, spread_of(efficiencies, READING, efficiencies.find("hbm", gpu).rung)
    if parts.products is not None:
        yield Limit.COMPUTE, spread_of(efficiencies, PRODUCTS, efficiencies.find("gemm", gpu, "kernel bf16").rung)


def _fetches(made: Estimate) -> bool:
    return any(part.id in {FETCHED, OFFLOADED} for part in made.time)


def _reads_drives(workload: object) -> bool:
    return (
        isinstance(workload, ReadsData)
        and workload.data_storage is Storage.LOCAL
        and workload.storage_bytes_per_s is None
    )


def origin_of(parts: MeasuredParts) -> Origin:
    """Where a factor of measured parts comes from: the person's file."""
    source = Source("own", parts.file, parts.date, user=True)
    return Origin(Certainty.USER, Fact(1.0, Unit.RATIO, source), OF_PARTS)
