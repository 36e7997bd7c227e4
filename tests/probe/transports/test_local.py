import asyncio
import sys
import time

import pytest

from gpuplanner.probe.commands import READ_ONLY, Command, Topic
from gpuplanner.probe.running import Collected, probe, read
from gpuplanner.probe.transports import Began, Ended, Event, Hello
from gpuplanner.probe.transports.local import LocalTransport


def command(id_, code, **limits):
    return Command(id_, Topic.HOST, (sys.executable, "-c", code), **limits)


def run(commands, told=lambda _event: None):
    collected = Collected("here", commands)
    return asyncio.run(probe(LocalTransport(), commands, told, collected))


def test_events_come_in_order_and_results_as_asked_for():
    events: list[Event] = []
    commands = (command("slow", "import time; time.sleep(0.3); print(1)"), command("quick", "print(2)"))
    made = run(commands, events.append)
    assert isinstance(events[0], Hello)
    assert {event.id for event in events if isinstance(event, Began)} == {"slow", "quick"}
    assert [event.result.id for event in events if isinstance(event, Ended)] == ["quick", "slow"]
    assert [result.id for result in made.results] == ["slow", "quick"]
    assert made.whole
    assert abs(made.clock_offset_s or 0.0) < 1


def test_cancelled_it_keeps_what_came_and_ends_at_once():
    commands = (command("quick", "print(2)"), command("slow", "import time; time.sleep(60)", limit_s=60))
    collected = Collected("here", commands)

    async def cancelled_when(event_seen):
        task = asyncio.ensure_future(
            probe(LocalTransport(), commands, lambda e: event_seen.set() if isinstance(e, Ended) else None, collected)
        )
        await event_seen.wait()
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    async def main():
        return await cancelled_when(asyncio.Event())

    assert asyncio.run(main()) < 2
    kept = collected.run(whole=False)
    assert kept.results[0].id == "quick"


def test_what_does_not_answer_is_a_fault_with_the_tool_that_was_wanted():
    made = run((Command("x", Topic.GPUS, ("no-such-tool-here", "-q")),))
    evidence, _ = read(made)
    assert [(fault.kind, fault.wanted) for fault in evidence.faults] == [("absent", "no-such-tool-here")]


def test_every_command_of_the_first_tier_has_a_limit_and_its_own_name():
    assert len({each.id for each in READ_ONLY}) == len(READ_ONLY)
    assert all(0 < each.limit_s <= 30 and each.limit_bytes <= 1 << 25 for each in READ_ONLY)
