"""What a step's time goes to, by limit: shares that add up to 1. Shared by the workload kinds; estimates nothing."""

from collections.abc import Iterable

from gpuplanner.engine.estimate import Limit, Part
from gpuplanner.engine.formulas.power import limit_time_share


def limit_shares(parts: Iterable[Part]) -> tuple[tuple[Limit, float], ...]:
    """The share of the time of each limit, largest first; parts without a limit are left out."""
    limited = [part for part in parts if part.limit is not None]
    every = tuple(part.figure.value for part in limited)
    limits = dict.fromkeys(part.limit for part in limited if part.limit is not None)
    # A recorded formula is found again by the identity of its value, so that it stays as it is.
    shares: list[tuple[Limit, float]] = []
    for limit in limits:
        own = tuple(part.figure.value for part in limited if part.limit is limit)
        shares.append((limit, limit_time_share(own, every)))
    return tuple(sorted(shares, key=lambda item: -item[1]))
