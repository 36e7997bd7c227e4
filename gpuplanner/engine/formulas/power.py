"""Electrical power of the GPUs from their limit and what they wait for. Hosts, switches and cooling come on top."""

from gpuplanner.engine.formulas.elementwise import Number, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

POLCA = "Patel et al., Characterizing power management opportunities for LLMs in the cloud, ASPLOS 2024"


@formula(
    Unit.RATIO,
    "compute_time_share · compute_power_share + hbm_time_share · hbm_power_share"
    " + (1 - compute_time_share - hbm_time_share) · waiting_power_share",
    POLCA,
)
def drawn_power_share(
    compute_time_share: Number,
    hbm_time_share: Number,
    compute_power_share: Number,
    hbm_power_share: Number,
    waiting_power_share: Number,
) -> Number:
    """Share of the power limit that a GPU draws on average, from the shares of time that each limit takes."""
    waiting = 1.0 - compute_time_share - hbm_time_share
    return compute_time_share * compute_power_share + hbm_time_share * hbm_power_share + waiting * waiting_power_share


@formula(Unit.RATIO, "Σ limited_s / Σ part_s", "the parts of a step that wait for one limit, over all of them")
def limit_time_share(limited_s: tuple[float, ...], part_s: tuple[float, ...]) -> float:
    """Share of a step's time that one limit takes; 0 where a step takes no time."""
    return sum(limited_s) / (sum(part_s) or 1.0)


@formula(Unit.WATT, "gpus · power_limit_w · drawn_power_share")
def gpu_power_watts(gpus: Number, power_limit_w: Number, drawn_power_share: Number) -> Number:
    """Average power of all GPUs; `power_limit_w` is the limit of one as sold."""
    return gpus * power_limit_w * drawn_power_share


@formula(Unit.JOULE, "power_w · job_s")
def job_joules(power_w: Number, job_s: Number) -> Number:
    """Energy of the GPUs over the whole job."""
    return power_w * job_s


@formula(Unit.JOULE, "power_w / tokens_per_s")
def joules_per_token(power_w: Number, tokens_per_s: Number) -> Number:
    """Energy of the GPUs for one token at a steady rate."""
    return power_w / tokens_per_s


@formula(
    Unit.RATIO,
    "utilisation · min(power_limit_w / full_clock_w, 1) ^ power_exponent",
    "dynamic power grows with the clock and the square of the voltage, so that clocks fall slower than the limit",
)
def powered_utilisation(
    utilisation: Number, power_limit_w: Number, full_clock_w: Number, power_exponent: Number
) -> Number:
    """Share of the datasheet's rate that a board reaches whose limit of power is below what full clocks draw."""
    return utilisation * minimum(power_limit_w / full_clock_w, 1.0) ** power_exponent
