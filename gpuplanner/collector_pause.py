"""Holds Python's collector of cyclic garbage back while very many objects are made that all stay. Keeps no state."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No collection inside: going through all that was made so far, again and again, takes a third of the time.

    Where the collector is off already, as in the window, it stays off.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
