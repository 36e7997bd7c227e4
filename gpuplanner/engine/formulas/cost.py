"""What a run costs, in US dollars. Prices and rates are inputs with their own dates; nothing here knows one."""

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.figures import formula
from gpuplanner.units import Unit

TOKENS_PER_MTOKEN = 1e6
SECONDS_PER_HOUR = 3600.0


@formula(Unit.MONEY_PER_HOUR, "price_per_hour / currency_per_usd · nodes")
def usd_per_hour(price_per_hour: Number, currency_per_usd: Number, nodes: Number) -> Number:
    """Cost of all nodes for one hour; `price_per_hour` is for one node in its own currency."""
    return price_per_hour / currency_per_usd * nodes


@formula(Unit.MONEY, "usd_per_hour · hours_per_month")
def usd_per_month(usd_per_hour: Number, hours_per_month: Number) -> Number:
    """Cost of keeping the machines all month long."""
    return usd_per_hour * hours_per_month


@formula(Unit.MONEY, "usd_per_hour · job_s / 3600")
def usd_per_job(usd_per_hour: Number, job_s: Number) -> Number:
    """Cost of the machines for as long as the job takes; set-up, queues and restarts come on top."""
    return usd_per_hour * job_s / SECONDS_PER_HOUR


@formula(Unit.MONEY_PER_MTOKEN, "usd_per_hour / (3600 · tokens_per_s) · 1e6")
def usd_per_mtoken(usd_per_hour: Number, tokens_per_s: Number) -> Number:
    """Cost of a million tokens at a steady rate: output tokens when serving, processed tokens when training."""
    return usd_per_hour / (SECONDS_PER_HOUR * tokens_per_s) * TOKENS_PER_MTOKEN
