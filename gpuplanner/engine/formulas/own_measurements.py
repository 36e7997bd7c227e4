"""What a person's own measurement makes of a number: the engine's, times measured over what it says of that run.

One formula a unit, since a formula has one.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.figures import formula
from gpuplanner.units import Unit

OWN = "your own measurement of the same profile"
PARTS = "your own measurement of this machine"


@formula(Unit.SECOND, "engine_s * own_factor", OWN)
def own_seconds(engine_s: Number, own_factor: Number) -> Number:
    """A time, s. `own_factor`: the measured time over the engine's, of the run that was measured."""
    return engine_s * own_factor


@formula(Unit.TOKEN_PER_S, "engine_tokens_per_s * own_factor", OWN)
def own_tokens_per_second(engine_tokens_per_s: Number, own_factor: Number) -> Number:
    """A rate, tokens/s. `own_factor`: the measured rate over the engine's."""
    return engine_tokens_per_s * own_factor


@formula(Unit.REQUEST_PER_S, "engine_requests_per_s * own_factor", OWN)
def own_requests_per_second(engine_requests_per_s: Number, own_factor: Number) -> Number:
    """A rate, requests/s. `own_factor`: the measured rate over the engine's."""
    return engine_requests_per_s * own_factor


@formula(Unit.RATIO, "engine_share * own_factor", OWN)
def own_share(engine_share: Number, own_factor: Number) -> Number:
    """A utilisation. `own_factor`: the measured rate over the engine's."""
    return engine_share * own_factor


@formula(Unit.RATIO, "engine_share * own_rate_factor", PARTS)
def own_part_share(engine_share: Number, own_rate_factor: Number) -> Number:
    """Share of a data sheet's rate. `own_rate_factor`: what this machine's part reached over what such parts do."""
    return engine_share * own_rate_factor


@formula(Unit.TOKEN, "engine_tokens * own_factor", OWN)
def own_tokens(engine_tokens: Number, own_factor: Number) -> Number:
    """Tokens that a cache holds. `own_factor`: those that the server counted over the engine's."""
    return engine_tokens * own_factor


FOR_UNIT: Mapping[Unit, Callable[[Any, Any], Any]] = {
    Unit.SECOND: own_seconds,
    Unit.TOKEN_PER_S: own_tokens_per_second,
    Unit.TOKEN: own_tokens,
    Unit.REQUEST_PER_S: own_requests_per_second,
    Unit.RATIO: own_share,
}
"""The formula for a figure of each unit."""
