"""What has to be said where prompts and answers have workers of their own: who is busy, what crosses, how to start."""

from collections.abc import Iterator
from dataclasses import replace

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread, widened
from gpuplanner.engine.serving_apart import ApartNumbers
from gpuplanner.engine.serving_drafting import TABLE
from gpuplanner.engine.serving_figures import Spreads
from gpuplanner.engine.serving_flags import FLAGS
from gpuplanner.engine.serving_numbers import ServingNumbers
from gpuplanner.figures import Rung
from gpuplanner.messages import Message, msg
from gpuplanner.units import Display, percent, show_bytes, show_duration
from gpuplanner.workload.serving import Serving

SHORT_OF_PROMPTS, SHORT_OF_READERS = 0.5, 0.95
"""Shares of the time for which those that read prompts do: below the one too many of them, above the other too few."""


def apart_spreads(spreads: Spreads, efficiencies: Efficiencies) -> Spreads:
    """The spreads of times and rates, of which no measured row says that prompts had workers of their own."""
    beside = efficiencies.constants(TABLE, "unmeasured")

    def wider(spread: Spread) -> Spread:
        wide = widened(spread, beside["low"], beside["high"], msg("serving.why.apart"))
        return replace(wide, rung=Rung.ROOFLINE)

    return replace(
        spreads, token=wider(spreads.token), first_token=wider(spreads.first_token), rate=wider(spreads.rate)
    )


def apart_remarks(
    workload: Serving, machine: Machine, result: ServingNumbers, apart: ApartNumbers
) -> Iterator[Message]:
    """Who does what and how busy that is, and the way of the cache between them."""
    readers, answering = int(apart.prefill_workers), int(apart.decode_workers)
    load = min(float(apart.prompt_load), 1.0)
    yield msg(
        "serving.apart",
        readers=readers,
        answering=answering,
        load=percent(round(load, 2)),
        resident=f"{float(result.resident):.0f}",
        places=f"{float(result.places):.0f}",
    )
    crossing = "serving.transfer_network" if machine.nodes > 1 else "serving.transfer_link"
    size = str(show_bytes(float(apart.transfer_bytes), Display()))
    yield msg(crossing, size=size, time=str(show_duration(float(apart.transfer_s))))
    if load >= SHORT_OF_READERS:
        yield msg("serving.short_of_readers")
    elif load < SHORT_OF_PROMPTS and readers > 1:
        yield msg("serving.short_of_prompts")
    flag = FLAGS[workload.server].get("disaggregated")
    if flag:
        yield msg("serving.start_apart", flag=flag)
