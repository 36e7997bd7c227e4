"""What the pool of a server makes of the verdict on memory: whether it starts, holds who comes, has room to spare."""

from enum import Enum, auto

from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.ranges import Spread
from gpuplanner.engine.serving_figures import beside_weights
from gpuplanner.engine.serving_memory import MemoryNumbers


class PoolLack(Enum):
    """What a pool has no room for: one request of full length, all that come at once, or what memory may take more."""

    ONE_REQUEST = auto()
    PLACES = auto()
    SLACK = auto()


def pool_lack(
    memory: MemoryNumbers, resident: Number, places: Number, offered: Number | None, spread: Spread
) -> PoolLack | None:
    """The first of these that one way lacks. `offered`: clients of one replica, None where requests come at a rate.

    `spread`: of what lies beside the weights.
    """
    if not memory.starts:
        return PoolLack.ONE_REQUEST
    if offered is not None and resident < min(offered, places + 1) - 1e-9:
        return PoolLack.PLACES
    slack = beside_weights(memory) * (spread.high - 1)
    return PoolLack.SLACK if memory.pool_bytes - slack < memory.reserved_sequence_bytes else None


def fit_with(fit: Fit, lack: PoolLack | None) -> Fit:
    """The verdict on memory with what the pool lacks."""
    if fit is Fit.DOES_NOT_FIT or lack is PoolLack.ONE_REQUEST:
        return Fit.DOES_NOT_FIT
    return fit if lack is None else Fit.TIGHT
