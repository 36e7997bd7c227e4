"""The loop beside the window: what is told is gathered, how it ended is never lost, and what is cancelled ends."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gpuplanner.ui.background import COALESCE_MS
from gpuplanner.ui.probing import Probing, Tell


@pytest.fixture
def probing(qapp) -> Iterator[Probing]:
    """A loop that has ended again at the end."""
    made = Probing()
    yield made
    assert made.close(), "work did not end"


def test_a_flood_is_gathered_and_its_end_comes_last(qtbot, probing):
    came: list[Any] = []

    async def work(tell: Tell) -> str:
        for number in range(5000):
            tell(number)
            if number % 500 == 0:
                await asyncio.sleep(0)
        return "end"

    probing.start(work, came.append, came.append)
    qtbot.waitUntil(lambda: "end" in came, timeout=5000)
    assert came[-1] == "end"
    told = [number for part in came[:-1] for number in part]
    assert told == list(range(5000))
    assert len(came) < 50


def test_how_it_ended_arrives_in_the_gui_thread(qtbot, probing):
    came: list[Any] = []

    async def fails(_tell: Tell) -> None:
        raise ValueError("no")

    probing.start(fails, came.append, came.append, lambda error: came.append((type(error), threading.current_thread())))
    qtbot.waitUntil(lambda: bool(came), timeout=5000)
    assert came == [(ValueError, threading.main_thread())]
    assert probing.busy == 0


def test_many_ends_at_once_all_arrive(qtbot, probing):
    came: list[int] = []
    for number in range(40):

        async def work(_tell: Tell, number: int = number) -> int:
            return number

        probing.start(work, lambda _said: None, came.append)
    qtbot.waitUntil(lambda: len(came) == 40, timeout=5000)
    assert sorted(came) == list(range(40))


def test_what_is_cancelled_ends_within_two_seconds_and_says_nothing_more(qtbot, probing):
    came: list[Any] = []
    began, ended = threading.Event(), threading.Event()

    async def work(tell: Tell) -> None:
        try:
            began.set()
            await asyncio.sleep(60)
        finally:
            tell("last words")
            ended.set()

    probe = probing.start(work, came.append, came.append, came.append)
    assert began.wait(2)
    start = time.monotonic()
    probe.cancel()
    assert ended.wait(2)
    assert time.monotonic() - start < 2
    qtbot.wait(50)
    assert came == []
    assert not probe.running


def test_closing_ends_everything(qapp):
    probing = Probing()
    began, ended = threading.Event(), threading.Event()

    async def work(_tell: Tell) -> None:
        try:
            began.set()
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.set()

    probing.start(work, lambda _said: None, lambda _result: None)
    assert began.wait(2)
    assert probing.close()
    assert ended.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name == "probing"]


def test_an_answer_reaches_work_that_waits(qtbot, probing):
    came: list[Any] = []

    async def work(tell: Tell) -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        tell(answer)
        return await answer

    def heard(said: list[Any]) -> None:
        probing.call(lambda: said[0].set_result("yes"))

    probing.start(work, heard, came.append)
    qtbot.waitUntil(lambda: came == ["yes"], timeout=5000)


def test_what_is_cancelled_between_its_end_and_its_telling_says_nothing_more(qtbot, probing):
    heard: list[Any] = []

    async def work(_tell: Tell) -> int:
        return 1

    probe = probing.start(work, heard.append, heard.append)
    end = time.monotonic() + 5
    # Without a turn of this thread's event loop nobody is told.
    while probe.outcome is None and time.monotonic() < end:
        time.sleep(0.001)
    assert probe.outcome == (1, None)
    probe.cancel()
    qtbot.wait(3 * COALESCE_MS)
    assert heard == []
    assert probing.busy == 0
