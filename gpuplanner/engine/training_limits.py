"""How far a run could grow before its memory is full: the largest micro-batch, the longest sequence."""

from collections.abc import Callable

BytesAt = Callable[[float], float]
ITERATIONS = 60


def largest_that_fits(needed_bytes: BytesAt, usable_bytes: float, most: int) -> int:
    """The largest whole number up to `most` whose need fits; 0 when not even 1 does.

    `needed_bytes` grows with its argument. It is nearly linear, so the next guess is where the chord meets the limit.
    """
    low, high = 1, most
    at_low = needed_bytes(float(low)) - usable_bytes
    if at_low > 0:
        return 0
    at_high = needed_bytes(float(high)) - usable_bytes
    if at_high <= 0:
        return high
    halve = False
    for _ in range(ITERATIONS):
        if high - low <= 1:
            break
        chord = low + (high - low) * at_low / (at_low - at_high)
        guess = (low + high) // 2 if halve else int(chord)
        guess = min(max(guess, low + 1), high - 1)
        value = needed_bytes(float(guess)) - usable_bytes
        width = high - low
        if value <= 0:
            low, at_low = guess, value
        else:
            high, at_high = guess, value
        halve = high - low > width / 2
    return low
