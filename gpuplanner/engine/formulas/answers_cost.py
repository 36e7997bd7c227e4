"""Energy with what surrounds the GPUs, cost of a job with storage and egress, replicas by the hour. Knows no price."""

from gpuplanner.engine.formulas.cost import SECONDS_PER_HOUR
from gpuplanner.engine.formulas.elementwise import Number, ceil, floor, maximum
from gpuplanner.figures import formula
from gpuplanner.units import GB, Unit

JOULES_PER_KWH = 3.6e6


@formula(Unit.WATT, "power_w + nodes · node_power_w")
def machine_watts(power_w: Number, nodes: Number, node_power_w: Number) -> Number:
    """Power of GPUs and of the hosts around them."""
    return power_w + nodes * node_power_w


@formula(Unit.WATT, "machine_w · pue")
def facility_watts(machine_w: Number, pue: Number) -> Number:
    """Power at the meter: with what cooling and distribution take (PUE, 1 and more)."""
    return machine_w * pue


@formula(Unit.KILOWATT_HOUR, "facility_w · duration_s / 3.6e6")
def kilowatt_hours(facility_w: Number, duration_s: Number) -> Number:
    """Energy at the meter over a time."""
    return facility_w * duration_s / JOULES_PER_KWH


@formula(Unit.KILOWATT_HOUR, "facility_w · hours_per_month / 1000")
def kilowatt_hours_per_month(facility_w: Number, hours_per_month: Number) -> Number:
    """Energy at the meter of a month without a pause."""
    return facility_w * hours_per_month / 1000.0


@formula(Unit.KILOWATT_HOUR, "facility_w · 1e6 / tokens_per_s / 3.6e6")
def kilowatt_hours_per_mtoken(facility_w: Number, tokens_per_s: Number) -> Number:
    """Energy at the meter for a million tokens at a steady rate."""
    return facility_w * 1e6 / tokens_per_s / JOULES_PER_KWH


@formula(Unit.KILOWATT_HOUR, "facility_w · 1000 / items_per_s / 3.6e6")
def kilowatt_hours_per_thousand(facility_w: Number, items_per_s: Number) -> Number:
    """Energy at the meter for a thousand items at a steady rate."""
    return facility_w * 1000.0 / items_per_s / JOULES_PER_KWH


@formula(Unit.MONEY, "energy_kwh · usd_per_kwh")
def electricity_usd(energy_kwh: Number, usd_per_kwh: Number) -> Number:
    """Cost of electricity."""
    return energy_kwh * usd_per_kwh


@formula(Unit.MONEY, "usd_per_hour · (whole_job_s - job_s) / 3600")
def failures_usd(usd_per_hour: Number, whole_job_s: Number, job_s: Number) -> Number:
    """Cost of the time that goes to checkpoints, repeated work and restarts."""
    return usd_per_hour * (whole_job_s - job_s) / SECONDS_PER_HOUR


@formula(Unit.MONEY, "usd_per_hour · whole_job_s / 3600 · idle_share / (1 - idle_share)")
def idle_usd(usd_per_hour: Number, whole_job_s: Number, idle_share: Number) -> Number:
    """Cost of the time in which the machines are paid and do nothing; `idle_share` of all paid time, below 1."""
    return usd_per_hour * whole_job_s / SECONDS_PER_HOUR * idle_share / (1.0 - idle_share)


@formula(Unit.MONEY, "stored_bytes / 1e9 · usd_per_gb_month · whole_job_s / 3600 / hours_per_month")
def storage_usd(stored_bytes: Number, usd_per_gb_month: Number, whole_job_s: Number, hours_per_month: Number) -> Number:
    """Cost of storage while the job lasts."""
    return stored_bytes / GB * usd_per_gb_month * whole_job_s / SECONDS_PER_HOUR / hours_per_month


@formula(Unit.MONEY, "egress_bytes / 1e9 · usd_per_gb_out")
def egress_usd(egress_bytes: Number, usd_per_gb_out: Number) -> Number:
    """Cost of what leaves the provider's network."""
    return egress_bytes / GB * usd_per_gb_out


@formula(Unit.MONEY, "Σ part_usd")
def whole_usd(part_usd: tuple[Number, ...]) -> Number:
    """The parts that are known, together."""
    return sum(part_usd)


@formula(Unit.COUNT, "max(ceil(request_per_s / (capacity_per_s · (1 - reserve_share))), least_replicas)")
def replicas_for(
    request_per_s: Number, capacity_per_s: Number, reserve_share: Number, least_replicas: Number
) -> Number:
    """Replicas that answer so many requests a second, with a share of each kept in reserve."""
    # A number of its own: recorded numbers are known by their identity, and the least is one already.
    return maximum(ceil(request_per_s / (capacity_per_s * (1.0 - reserve_share))), least_replicas) + 0.0


@formula(Unit.COUNT, "24 · max(replicas)")
def fixed_replica_hours(replicas: tuple[Number, ...]) -> Number:
    """Replica hours of a day when those of the busiest hour run all day."""
    most: Number = 0.0
    for each in replicas:
        most = maximum(most, each)
    return most * len(replicas)


@formula(
    Unit.COUNT,
    "Σ replicas[h] + Σ max(replicas[h + 1] - replicas[h], 0) · start_s / 3600",
    "a replica is started early enough to be ready when its hour begins; after the last hour comes the first",
)
def elastic_replica_hours(replicas: tuple[Number, ...], start_s: Number) -> Number:
    """Replica hours of a day when each hour has as many as it needs."""
    hours: Number = 0.0
    for each, following in zip(replicas, (*replicas[1:], replicas[0]), strict=True):
        hours = hours + each + maximum(following - each, 0.0) * start_s / SECONDS_PER_HOUR
    return hours


@formula(Unit.MONEY, "replica_hours · usd_per_hour")
def replicas_usd_per_day(replica_hours: Number, usd_per_hour: Number) -> Number:
    """Cost of a day; `usd_per_hour` is that of one replica."""
    return replica_hours * usd_per_hour


@formula(Unit.MONEY, "usd_per_day · hours_per_month / 24")
def usd_per_month_of_days(usd_per_day: Number, hours_per_month: Number) -> Number:
    """Cost of a month of such days."""
    return usd_per_day * hours_per_month / 24.0


@formula(Unit.RATIO, "1 - elastic_hours / fixed_hours")
def saved_share(elastic_hours: Number, fixed_hours: Number) -> Number:
    """What running only what each hour needs saves of the replica hours."""
    return 1.0 - elastic_hours / fixed_hours


@formula(Unit.COUNT, "floor(min(1 / compute_part, 1 / memory_part))")
def parts_per_gpu(compute_part: float, memory_part: float) -> float:
    """How many slices of these shares one GPU is divided into."""
    return float(floor(min(1.0 / compute_part, 1.0 / memory_part) + 1e-9))


@formula(Unit.RATIO, "1 / slices")
def slice_cost_share(slices: Number) -> Number:
    """The share of a GPU's cost that one of so many equal slices bears."""
    return 1.0 / slices


@formula(Unit.MONEY_PER_HOUR, "usd_per_hour / gpus")
def gpu_usd_per_hour(usd_per_hour: Number, gpus: Number) -> Number:
    """Cost of one of the GPUs of a machine for an hour."""
    return usd_per_hour / gpus


@formula(Unit.MONEY_PER_HOUR, "usd_per_hour · slice_share")
def slice_usd_per_hour(usd_per_hour: Number, slice_share: Number) -> Number:
    """Cost of one slice for an hour; `usd_per_hour` is that of the whole GPU."""
    return usd_per_hour * slice_share
