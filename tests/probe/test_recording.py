import asyncio
import re

import pytest

from gpuplanner.messages import InputError
from gpuplanner.probe.commands import Command, Topic
from gpuplanner.probe.recording import MOST_RESULTS, is_recording, read_recording, written
from gpuplanner.probe.results import CommandResult, Run
from gpuplanner.probe.running import Collected, probe
from gpuplanner.probe.transports import Ended, Event
from gpuplanner.probe.transports.recorded import RecordedTransport

RESULTS = (
    CommandResult("smi", ("nvidia-smi",), 0, "ended", "GPU · 显卡\n".encode(), b"", 1.25, 1700000000.5),
    CommandResult("raw", ("cat", "x"), None, "timed_out", b"\xff\xfe\x00", b"err\n", 20.0, 1700000001.0),
)
RUN = Run(
    "node-1", 1700000000.0, RESULTS, True, 0.25, "3.9.2", False, asked={"smi": ("nvidia-smi",), "raw": ("cat", "x")}
)


def test_a_run_comes_back_as_it_was():
    text = written(RUN)
    assert is_recording(text)
    back = read_recording(text, "x.gpurun")
    assert back.results == RESULTS
    assert (back.target, back.whole, back.clock_offset_s, back.recorded) == ("node-1", True, 0.25, True)


def test_a_recording_whose_end_is_missing_gives_what_is_there():
    text = written(RUN)
    back = read_recording(text[: len(text) - 40], "x")
    assert back.results == RESULTS[:1]
    assert not back.whole


@pytest.mark.parametrize(
    ("change", "id_"),
    [
        (lambda _: "no recording", "probe.recording.none"),
        (lambda t: t.replace("gpurun/1", "gpurun/2"), "probe.recording.newer"),
        (lambda t: t.replace('"outcome":"ended"', '"outcome":"eaten"'), "probe.recording.line"),
        (lambda t: t.replace('"began":1700000000.0', '"began":"x"', 1), "probe.recording.line"),
        (lambda t: "[1]\n" + t, "probe.recording.none"),
        (lambda t: t.replace('"began":1700000000.0', '"began":1' + "0" * 400, 1), "probe.recording.line"),
        (lambda t: t.replace('"began":1700000000.0', '"began":NaN', 1), "probe.recording.line"),
        (lambda t: re.sub(r'"argv":\[[^]]*\]', '"argv":"nvidia-smi"', t, count=1), "probe.recording.line"),
        (lambda t: re.sub(r'"argv":\[[^]]*\]', '"argv":[]', t, count=1), "probe.recording.line"),
        (lambda t: re.sub(r'"seconds":[^,]*', '"seconds":1e999', t, count=1), "probe.recording.line"),
        (lambda t: t + t.split("\n")[1].join("\n\n") * MOST_RESULTS, "probe.recording.too_many"),
    ],
)
def test_what_is_wrong_is_said(change, id_):
    with pytest.raises(InputError) as fault:
        read_recording(change(written(RUN)), "x.gpurun")
    assert fault.value.message.id == id_


def replayed(commands):
    events: list[Event] = []
    transport = RecordedTransport(RUN)
    run = asyncio.run(probe(transport, commands, events.append, Collected(transport.name, commands)))
    return run, events


def test_a_replay_gives_the_same_results():
    commands = [Command(result.id, Topic.GPUS, result.argv) for result in RESULTS]
    run, events = replayed(commands)
    assert run.results == RESULTS
    assert run.whole
    assert [event.result.id for event in events if isinstance(event, Ended)] == ["smi", "raw"]


def test_a_command_that_was_not_recorded_makes_it_part_of_a_run():
    run, _ = replayed([Command("other", Topic.GPUS, ("x",)), Command("smi", Topic.GPUS, ("nvidia-smi",))])
    assert [result.id for result in run.results] == ["smi"]
    assert not run.whole
