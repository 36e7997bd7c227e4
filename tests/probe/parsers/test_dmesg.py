"""A kernel log that is a flood is read at the price of what it says anew, and counted to its end."""

from collections.abc import Callable

import pytest

from gpuplanner.probe.evidence.events import KernelEvent
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import dmesg

XID = "[ {at:5d}.000000] NVRM: Xid (PCI:0000:0{gpu}:00): {code}, pid=7, name=python\n"
QUIET = "[ {at:5d}.000000] usb 1-1: new device\n"


def test_lines_that_repeat_are_counted_and_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(dmesg, "_event", _counting(read))
    log = "".join(XID.format(at=at, gpu=at % 2, code=79) + QUIET.format(at=at) for at in range(400))
    events = inspect(Output.of(log, "log")).evidence.events
    assert [(event.pci_bus_id, event.count) for event in events] == [
        ("00000000:00:00.0", 200),
        ("00000000:01:00.0", 200),
    ]
    assert len(read) == 2


def test_what_is_more_than_is_kept_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(dmesg, "_event", _counting(read))
    monkeypatch.setattr(dmesg, "_MOST_EVENTS", 5)
    log = "".join(XID.format(at=at, gpu=1, code=at % 50) for at in range(400))
    events = inspect(Output.of(log, "log")).evidence.events
    assert [(event.code, event.count) for event in events] == [(code, 8) for code in range(5)]
    assert len(read) == 5


def _counting(read: list[str]) -> Callable[..., KernelEvent]:
    real: Callable[..., KernelEvent] = dmesg._event

    def event(*given: object) -> KernelEvent:
        made = real(*given)
        read.append(made.said or "")
        return made

    return event
