"""A measurement over the transports, and what is read of it, live and out of a recording."""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.messages import InputError
from gpuplanner.probe.measuring import (
    LONGEST_FRAME,
    MOST_ANSWERED,
    MOST_ANSWERED_AT_ONCE,
    MOST_FRAMES,
    Measured,
    Measuring,
    measure,
)
from gpuplanner.probe.recording import read_recording, written
from gpuplanner.probe.running import read
from gpuplanner.probe.transports import Event, Lost
from gpuplanner.probe.transports.local import LocalTransport
from gpuplanner.probe.transports.programs import MEASURE, Program
from gpuplanner.probe.transports.ssh import SshTransport
from tests.probe import sshd
from tests.probe.sshd import Keys, Server

GPUS = ("host_to_device", "device_to_host", "device_memory", "arithmetic", "matrix", "device_to_device", "all_reduce")


def nothing(_told):
    """Hears what a test does not look at."""


@pytest.fixture
def here(libraries, monkeypatch):
    """This machine, with two GPUs that are none."""

    def put(*sources, **settings):
        libraries.put(*sources)
        for name, value in libraries.environment(**settings).items():
            monkeypatch.setenv(name, value)
        return LocalTransport()

    return put


def test_measured_here_it_is_evidence_and_so_is_its_recording(here, libraries):
    steps: list[Measuring] = []
    run = asyncio.run(measure(here("cuda", "nvml"), nothing, steps.append, Measured("here"), only=GPUS))
    assert run.whole
    assert run.python == ".".join(map(str, sys.version_info[:3]))
    evidence, inspections = read(run)
    assert [inspection.tool for inspection in inspections] == ["gpuplanner-measure"]
    assert [gpu.name for gpu in evidence.gpus] == ["NVIDIA Stub 0", "NVIDIA Stub 1"]
    to_gpu = next(each for each in evidence.bandwidths if each.path == "host_to_device" and each.bytes == 1 << 28)
    assert to_gpu.gb_per_s == pytest.approx(55.4, rel=1e-3)
    assert {(rate.dtype, rate.path) for rate in evidence.matrix_rates} == {("fp32", "ptx_fma"), ("bf16", "ptx_mma")}
    assert {fault.wanted for fault in evidence.faults} == {"matrix", "all_reduce"}
    assert (steps[0].what, steps[0].gpu, steps[0].share) == ("host_to_device", 0, 0)
    assert read(read_recording(written(run), "saved"))[0] == evidence
    assert libraries.left() == {}


def test_refused_where_somebody_computes(here):
    measured = Measured("here")
    run = asyncio.run(measure(here("cuda", "nvml", busy=0), nothing, nothing, measured))
    assert (run.whole, measured.refused) == (False, "busy")
    evidence, _ = read(run)
    assert evidence.bandwidths == ()
    # It ended by itself: nobody stopped it.
    assert [(fault.wanted, fault.said) for fault in evidence.faults] == [("gpuplanner-measure", "busy")]


def test_a_program_that_a_driver_takes_with_it_is_lost(monkeypatch):
    monkeypatch.setattr(Program, "text", lambda *_: b"22\nimport os; os._exit(1)")
    told: list[Event] = []
    run = asyncio.run(measure(LocalTransport(), told.append, nothing, Measured("here")))
    assert not run.whole
    assert [event.why.id for event in told if isinstance(event, Lost)] == ["probe.local.ended"]


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    sshd.needed()
    return Keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def node(tmp_path, keys):
    """Starts a machine with an SSH server."""
    started: list[Server] = []

    def start(**fields):
        started.append(Server(tmp_path / "server", keys, **fields).start())
        return SshTransport("node", extra=started[0].client())

    yield start
    for each in started:
        each.stop()


def seen_there(libraries, **settings):
    """What makes the server's programs find the libraries."""
    names = ("LD_LIBRARY_PATH", "STUB_LEDGER", *(f"STUB_{name.upper()}" for name in settings))
    found = libraries.environment(**settings)
    words = ["PATH=/usr/local/bin:/usr/bin:/bin", *(f"{name}={found[name]}" for name in names)]
    return {"SetEnv": " ".join(words)}


def test_measured_over_ssh_it_says_the_same(node, libraries):
    libraries.put("cuda", "nvml")
    made = node(settings=seen_there(libraries, gpus=2))
    run = asyncio.run(measure(made, nothing, nothing, Measured("node"), only=GPUS))
    assert run.whole
    evidence, _ = read(run)
    assert len([each for each in evidence.bandwidths if each.path == "device_to_device"]) == 2 + 3
    assert libraries.left() == {}


def test_the_way_to_a_machine_is_measured_both_ways(node, monkeypatch):
    monkeypatch.setattr("gpuplanner.probe.measuring.source_of", lambda _: "")
    measured = Measured("node")
    run = asyncio.run(measure(node(), nothing, nothing, measured, only=("channel",)))
    assert run.whole
    rows = {row.method: row for row in read(run)[0].bandwidths}
    assert set(rows) == {"to_machine", "from_machine"}
    for row in rows.values():
        assert row.path == "network"
        assert row.gb_per_s is not None
        assert row.latency_us is not None
        # On loopback: more than a slow line, less than memory.
        assert 0.005 < row.gb_per_s < 20
        assert 10 < row.latency_us < 1e6
    assert read(run)[0].gpus == ()


def test_here_too_a_program_gets_what_it_asks_for():
    measured = Measured("here")

    def take(frame: dict[str, Any]) -> bytes | None:
        measured.take(frame)
        return measured.answer(frame)

    job = {"limit_s": 30.0, "only": ["channel"], "channel": True}
    assert asyncio.run(LocalTransport().run(MEASURE, job, nothing, take))
    assert {row.method for row in read(measured.run(whole=True))[0].bandwidths} == {"to_machine", "from_machine"}


def test_no_way_is_measured_to_the_machine_that_this_is(here):
    run = asyncio.run(measure(here(), nothing, nothing, Measured("here"), only=("channel",)))
    assert run.whole
    assert read(run)[0].bandwidths == ()


def test_a_machine_that_asks_and_takes_nothing_is_given_up(node, monkeypatch):
    def text(_program, mark, _patience, _job):
        lines = f'import time\nprint(\'{mark} {{"frame": "ask", "bytes": {1 << 26}}}\', flush=True)\ntime.sleep(60)\n'
        return f"{len(lines)}\n{lines}".encode()

    monkeypatch.setattr(Program, "text", text)
    monkeypatch.setattr("gpuplanner.probe.transports.ssh.SILENCE_S", 0.5)
    told: list[Event] = []
    began = time.monotonic()
    run = asyncio.run(measure(node(), told.append, nothing, Measured("node"), only=("channel",)))
    assert not run.whole
    assert [event.why.id for event in told if isinstance(event, Lost)] == ["probe.ssh.lost_between"]
    assert time.monotonic() - began < 10


def test_a_machine_gets_no_more_than_it_may_ask_for():
    measured = Measured("node")
    assert len(measured.answer({"frame": "ask", "bytes": 200_000}) or b"") == 200_000
    for asked in (-1, 0, 1 << 40, MOST_ANSWERED_AT_ONCE + 1, "all", None, True):
        assert len(measured.answer({"frame": "ask", "bytes": asked}) or b"") <= 1
    answered = 0
    while piece := measured.answer({"frame": "ask", "bytes": 1 << 26}):
        answered += len(piece)
    assert answered <= MOST_ANSWERED


def test_what_lies_on_a_disk_is_read_over_ssh_and_judged_as_a_rate(node, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "shard.bin").write_bytes(os.urandom(65 << 20))
    made = node()
    run = asyncio.run(
        measure(made, nothing, nothing, Measured("node"), only=("disk",), places=(str(tmp_path / "data"),))
    )
    assert run.whole
    rates = read(run)[0].disk_rates
    assert [rate.operation for rate in rates] == ["read", "randread", "randread"]
    assert all(rate.direct is not None and rate.gb_per_s and rate.latency_p99_us for rate in rates)


@pytest.mark.parametrize("far", [False, True])
def test_cancelled_it_frees_everything_and_keeps_what_came(here, node, libraries, far):
    runner = here("cuda", "nvml", gpus=4, sleep_us=5_000)
    if far:
        runner = node(settings=seen_there(libraries, gpus=4, sleep_us=5_000))
    measured = Measured("machine")

    async def main():
        begun = asyncio.Event()
        task = asyncio.ensure_future(
            measure(runner, nothing, lambda step: begun.set() if step.share > 0 else None, measured, only=GPUS)
        )
        await asyncio.wait_for(begun.wait(), 20)
        assert libraries.left() != {}
        task.cancel()
        began = asyncio.get_running_loop().time()
        with pytest.raises(asyncio.CancelledError):
            await task
        while libraries.left() != {}:
            await asyncio.sleep(0.02)
            assert asyncio.get_running_loop().time() - began < 2
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(main()) < 2
    run = measured.run(whole=False)
    assert not run.whole
    assert read(run)[0].bandwidths != ()


def everything_below(folder):
    """Names, sizes and all times of what is there."""
    found = {}
    for path in sorted(folder.rglob("*")):
        told = path.lstat()
        found[str(path.relative_to(folder))] = (told.st_size, told.st_mtime_ns, told.st_ctime_ns, told.st_atime_ns)
    return found


def processes_with(mark):
    """The processes in whose environment a mark stands."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_it_leaves_no_file_no_time_and_no_process_there(node, libraries, tmp_path):
    home = tmp_path / "home"
    (home / ".cache" / "models").mkdir(parents=True)
    (home / ".cache" / "models" / "shard.bin").write_bytes(os.urandom(66 << 20))
    python = Path(__file__).parent / "native" / "python"
    libraries.put("cuda", "nvml", "cublas", "cublaslt", "nccl")
    found = libraries.environment(gpus=2)
    words = [
        "PATH=/usr/local/bin:/usr/bin:/bin", f"HOME={home}", "MEASURED_HERE=613", f"PYTHONPATH={python}",
        *(f"{name}={found[name]}" for name in ("LD_LIBRARY_PATH", "STUB_LEDGER", "STUB_GPUS")),
    ]  # fmt: skip
    made = node(settings={"SetEnv": " ".join(words)})
    before, beside = everything_below(home), everything_below(python)
    run = asyncio.run(measure(made, nothing, nothing, Measured("node"), places=(str(home),)))
    assert run.whole
    evidence, _ = read(run)
    # All parts of it ran.
    assert {rate.path for rate in evidence.matrix_rates} >= {"ptx_fma", "cublas", "cublaslt", "torch", "torch_sdpa"}
    assert evidence.disk_rates
    assert {row.path for row in evidence.bandwidths} >= {"network", "device_to_device", "device_memory"}
    assert evidence.collectives
    assert everything_below(home) == before
    assert everything_below(python) == beside
    assert processes_with(b"MEASURED_HERE=613") == []
    assert libraries.left() == {}


@pytest.mark.parametrize("step", ["disk", "channel"])
def test_what_needs_no_gpu_is_cancelled_as_fast(node, tmp_path, step):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "shard.bin").write_bytes(os.urandom(65 << 20))
    made = node(settings={"SetEnv": f"PATH=/usr/local/bin:/usr/bin:/bin CANCELLED_HERE={step}613"})
    mark = f"CANCELLED_HERE={step}613".encode()

    async def main():
        begun = asyncio.Event()
        task = asyncio.ensure_future(
            measure(made, nothing, lambda _step: begun.set(), Measured("node"), only=(step,),
                    places=(str(tmp_path / "data"),))
        )  # fmt: skip
        await asyncio.wait_for(begun.wait(), 20)
        assert processes_with(mark)
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        while processes_with(mark):
            await asyncio.sleep(0.02)
            assert time.monotonic() - began < 2
        return time.monotonic() - began

    assert asyncio.run(main()) < 2


def test_a_machine_without_python_cannot_be_measured(node, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "sh").symlink_to("/bin/sh")
    with pytest.raises(InputError) as fault:
        asyncio.run(measure(node(path=str(tools)), nothing, nothing, Measured("node")))
    assert fault.value.message.id == "probe.ssh.no_python"


def test_a_flood_of_frames_is_kept_within_bounds():
    measured = Measured("node")
    for _ in range(MOST_FRAMES + 5):
        measured.take({"frame": "result"})
    measured.take({"frame": "result", "said": "x" * LONGEST_FRAME})
    strange: list[dict[str, Any]] = [{}, {"frame": "measuring"}, {"frame": "measuring", "what": 3}, {"frame": []}]
    for frame in strange:
        assert measured.take(frame) is None
    assert measured.run(whole=True).results[0].out.count(b"\n") == MOST_FRAMES
