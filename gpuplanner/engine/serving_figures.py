"""Serving's numbers as figures: each with its unit, its range and why it is as wide. Nothing is computed but ranges."""

from dataclasses import dataclass

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.ranges import Spread, certainty_on, inverse, ranged, unmeasured
from gpuplanner.engine.serving_machine import SERVERS, worst
from gpuplanner.engine.serving_memory import MemoryNumbers
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Figure, Rung, exact
from gpuplanner.messages import msg
from gpuplanner.units import Unit
from gpuplanner.workload.serving import Server

TABLE = "serving_ranges"
POOLLESS = frozenset({Server.TRANSFORMERS.value, "autoawq"})
WITHOUT_POOL = " without a pool"


@dataclass(frozen=True, slots=True)
class Spreads:
    """The spreads of the families of serving figures on one rung."""

    token: Spread
    first_token: Spread
    rate: Spread
    prompt: Spread
    beside_weights: Spread


def rungs_of(efficiencies: Efficiencies, server: str, found: Rung, alone: bool) -> tuple[Rung, Rung]:
    """The rungs that times stand on, and the first token's: a lower one where a server's own runs tell nothing of it.

    `found`: that of the GPU; `alone`: with one request at work.
    """
    told = efficiencies.constants(SERVERS, server).values
    times = Rung.ROOFLINE if told.get("measured_alone") and not alone else found
    borrowed = told.get("first_token_borrowed") and not alone
    return times, worst(times, Rung.OTHER_ARCHITECTURE) if borrowed else times


def spreads_of(
    efficiencies: Efficiencies,
    rung: Rung,
    alone: bool = False,
    memory_rung: Rung | None = None,
    server: str = Server.VLLM.value,
    first_rung: Rung | None = None,
) -> Spreads:
    """The spreads on a rung, from the residuals of measured runs; `alone`: with one request at work.

    `memory_rung`, `first_rung`: those of memory and of the first token, where they are other ones. `server`: the
    software or profile; what has no pool of its own takes memory as it needs it, and gives little of it back.
    """
    of = " of one request" if alone else ""
    return Spreads(
        token=spread_of(efficiencies, f"time per token{of}", rung),
        first_token=spread_of(efficiencies, f"time to first token{of}", first_rung or rung),
        rate=spread_of(efficiencies, f"time per token{of}" if alone else "throughput", rung),
        prompt=spread_of(efficiencies, "prompt rate", rung),
        beside_weights=memory_spread(efficiencies, memory_rung or rung, server),
    )


def memory_spread(efficiencies: Efficiencies, rung: Rung, server: str) -> Spread:
    """The spread of what lies in memory beside weights and cache; see `spreads_of`."""
    pool = WITHOUT_POOL if server in POOLLESS else ""
    return spread_of(efficiencies, f"memory beside weights{pool}", rung)


def spread_of(efficiencies: Efficiencies, family: str, rung: Rung) -> Spread:
    """The spread of one family on a rung; the widest where nothing was measured on it."""
    try:
        found = efficiencies.constants(TABLE, f"{family}, {rung.value}")
    except MissingFactError:
        return unmeasured(efficiencies, msg("serving.why.no_measurement"))
    why = msg(f"serving.why.{rung.name.lower()}", points=found.points)
    return Spread(found["low"], found["high"], rung, why)


def beside_weights(memory: MemoryNumbers) -> float:
    """Bytes of what is neither weights nor cache, which only logs tell."""
    return float(memory.fixed_bytes - memory.weight_bytes)


def with_certain_part(amount: Number, uncertain: Number, unit: Unit, spread: Spread) -> Figure:
    """A sum of which only `uncertain` has a range: its low and high end move by what that part does."""
    value, uncertain = float(amount), float(uncertain)
    low, high = value - uncertain * (1 - spread.low), value + uncertain * (spread.high - 1)
    return Figure(value, unit, certainty_on(spread.rung), low, high, spread.rung, spread.why)


def pool_figure(memory: MemoryNumbers, per_bytes: Number, amount: Number, unit: Unit, spread: Spread) -> Figure:
    """Something that the pool holds, `per_bytes` for one: what runs beside the weights takes away from it.

    What is missing before there is any pool has to be made up for before the better end holds more than none.
    """
    value, shift = float(amount), beside_weights(memory) / float(per_bytes)
    missing = float(memory.shortfall_bytes) / float(per_bytes)
    low, high = value - shift * (spread.high - 1), value - missing + shift * (1 - spread.low)
    return Figure(value, unit, certainty_on(spread.rung), max(low, 0.0), max(high, value), spread.rung, spread.why)


def certain(amount: Number, unit: Unit) -> Figure:
    """A number that follows from formats and shapes alone."""
    return exact(float(amount), unit)


def time_figure(amount: Number, spread: Spread) -> Figure:
    """A time in seconds."""
    return ranged(float(amount), Unit.SECOND, spread)


def sum_figure(amount: Number, parts: tuple[tuple[Figure, float], ...]) -> Figure:
    """A time that is a sum of figures, each as many times as it says: its ends are the sums of theirs."""
    low, high = (sum(getattr(figure, end) * times for figure, times in parts) for end in ("low", "high"))
    first = parts[0][0]
    return Figure(float(amount), first.unit, first.certainty, low, high, first.rung, first.why)


def count_figure(amount: Number, spread: Spread) -> Figure:
    """A number of requests."""
    return ranged(float(amount), Unit.COUNT, spread)


def rate_figure(amount: Number, unit: Unit, spread: Spread) -> Figure:
    """A rate whose time has this spread."""
    return inverse(float(amount), unit, spread)
