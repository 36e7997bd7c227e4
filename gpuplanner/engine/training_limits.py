"""How far a run could grow before its memory is full: the largest micro-batch, the longest sequence."""

from collections.abc import Callable

BytesAt = Callable[[float], float]
ITERATIONS = 128
"""Every fourth guess halves what is left, which may be as much as 2³²."""


def largest_that_fits(
    needed_bytes: BytesAt, usable_bytes: float, most: int, known: tuple[int, float] | None = None, hint: int = 0
) -> int:
    """The largest whole number up to `most` whose need fits; 0 when not even 1 does.

    `needed_bytes` grows with its argument. It is nearly linear, in pieces: the next guess is where the line through the
    last two numbers that fit meets the limit, else where the chord does. `known`: a number with its need, which spares
    a call; `hint`: a first guess, where there is one.
    """
    low, at_low = 1, needed_bytes(1.0) - usable_bytes
    if at_low > 0:
        return 0
    before: tuple[int, float] | None = None
    high, at_high = most + 1, None
    if known is not None and 1 < known[0] <= most:
        free = known[1] - usable_bytes
        if free <= 0:
            before, low, at_low = (low, at_low), known[0], free
        else:
            high, at_high = known[0], free
    for turn in range(ITERATIONS):
        if high - low <= 1:
            break
        if not turn and hint:
            guess = hint
        elif turn % 4 == 3:
            guess = (low + high) // 2
        elif before is not None and at_low > before[1]:
            guess = int(min(low - at_low * (low - before[0]) / (at_low - before[1]), high))
        elif at_high is not None:
            guess = int(low + (high - low) * at_low / (at_low - at_high))
        else:
            guess = most
        guess = min(max(guess, low + 1), high - 1)
        value = needed_bytes(float(guess)) - usable_bytes
        if value <= 0:
            before, low, at_low = (low, at_low), guess, value
        else:
            high, at_high, before = guess, value, None
    return low
