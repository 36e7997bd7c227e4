"""Installed tools, found and run on a real SSH server whose search path holds tools that replay."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from gpuplanner.messages import InputError
from gpuplanner.probe.installed.running import Installed, look, run_installed
from gpuplanner.probe.installed.tools import PREFIX, There, commands
from gpuplanner.probe.measuring import Measuring
from gpuplanner.probe.running import read
from gpuplanner.probe.transports.local import LocalTransport
from gpuplanner.probe.transports.programs import Program
from gpuplanner.probe.transports.ssh import SshTransport
from tests.probe import sshd
from tests.probe.sshd import Keys, Server

NVBANDWIDTH = """nvbandwidth Version: v0.7
Built from Git version: v0.7

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.25     55.31

SUM host_to_device_memcpy_ce 110.56
"""


def nothing(_told):
    """Hears what a test does not look at."""


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    sshd.needed()
    return Keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def tools(tmp_path):
    """A folder of tools that are scripts."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def put(name, body):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return put


@pytest.fixture
def node(tmp_path, keys, libraries):
    """A machine over SSH on which these tools and, without a GPU, NVML are installed."""
    libraries.put("nvml")
    started: list[Server] = []

    def start(**settings):
        found = libraries.environment(**settings)
        names = ("LD_LIBRARY_PATH", *(f"STUB_{name.upper()}" for name in settings))
        words = [f"PATH={tmp_path / 'bin'}:/usr/local/bin:/usr/bin:/bin", *(f"{name}={found[name]}" for name in names)]
        started.append(Server(tmp_path / "server", keys, settings={"SetEnv": " ".join(words)}).start())
        return SshTransport("node", extra=started[0].client())

    yield start
    for each in started:
        each.stop()


def gone(pid):
    try:
        return "Z" in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except OSError:
        return True


def test_what_is_installed_is_found_run_and_read(node, tools, tmp_path):
    (tmp_path / "printed").write_text(NVBANDWIDTH, encoding="utf-8")
    path = tools("nvbandwidth", f'echo "$@" > {tmp_path}/arguments; cat {tmp_path}/printed')
    made = node(gpus=2)
    there = asyncio.run(look(made, nothing))
    assert (there.paths, there.gpus) == ({"nvbandwidth": str(path)}, 2)
    wanted = commands(there)
    run = asyncio.run(run_installed(made, nothing, nothing, Installed("node", wanted)))
    assert run.whole
    assert (tmp_path / "arguments").read_text(encoding="utf-8").split() == list(wanted[0].command.argv[1:])
    evidence, inspections = read(run)
    assert [inspection.tool for inspection in inspections] == ["nvbandwidth"]
    assert [(row.path, row.target, row.gb_per_s) for row in evidence.bandwidths] == [
        ("host_to_device", 0, 55.25), ("host_to_device", 1, 55.31)
    ]  # fmt: skip


def test_a_machine_that_does_not_come_to_an_end_of_looking_is_given_up(monkeypatch):
    monkeypatch.setattr("gpuplanner.probe.installed.running.LOOK_LIMIT_S", 0.3)
    monkeypatch.setattr(Program, "text", lambda *_: b"28\nimport time; time.sleep(60)\n")
    with pytest.raises(InputError) as fault:
        asyncio.run(look(LocalTransport(), nothing))
    assert fault.value.message.id == "probe.installed.silent"


def test_one_after_the_other_and_progress_says_what_was_printed_last(tools):
    tools("nvbandwidth", "echo Running one.; sleep 0.4; echo two")
    tools("dcgmi", "echo started")
    steps: list[Measuring] = []
    bin_ = str(tools("x", "").parent)
    there = There({"nvbandwidth": f"{bin_}/nvbandwidth", "dcgm-1": f"{bin_}/dcgmi"}, 1)
    installed = Installed("here", commands(there))
    run = asyncio.run(run_installed(LocalTransport(), nothing, steps.append, installed, even_if_busy=True))
    first, second = run.results
    assert (first.id, second.id) == (f"{PREFIX}nvbandwidth", f"{PREFIX}dcgm-1")
    assert second.began >= first.began + first.seconds - 0.05
    assert ("Running one.", True) in {(step.said, 0 <= step.share < 0.5) for step in steps}


@pytest.mark.parametrize(("settings", "reason"), [({"busy": 0, "gpus": 1}, "busy")])
def test_nothing_runs_where_somebody_computes(node, tools, tmp_path, settings, reason):
    path = tools("nvbandwidth", f"touch {tmp_path}/ran")
    installed = Installed("node", commands(There({"nvbandwidth": str(path)}, 1)))
    run = asyncio.run(run_installed(node(**settings), nothing, nothing, installed))
    assert (run.whole, installed.refused) == (False, reason)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("far", [False, True])
def test_cancelled_no_process_and_no_file_of_it_stays(node, tools, tmp_path, far):
    data = tmp_path / "data"
    data.mkdir()
    # A tool that ignores being asked to end, and has started another.
    path = tools("fio", f"trap '' TERM; sleep 300 & echo $$ $! > {tmp_path}/pids; ls {data}; wait; sleep 300")
    wanted = commands(There({"fio": str(path)}, None), folder=str(data), token="t")
    runner = node(gpus=1) if far else LocalTransport()
    installed = Installed("machine", wanted)

    async def main():
        begun = asyncio.Event()

        def progress(step):
            if step.said:
                begun.set()

        task = asyncio.ensure_future(run_installed(runner, nothing, progress, installed, even_if_busy=True))
        await asyncio.wait_for(begun.wait(), 20)
        assert [path.name for path in data.iterdir()] == ["gpuplanner-fio-t"]
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        pids = [int(pid) for pid in (tmp_path / "pids").read_text(encoding="utf-8").split()]
        while not all(gone(pid) for pid in pids) or list(data.iterdir()):
            await asyncio.sleep(0.02)
            assert time.monotonic() - began < 2
        return time.monotonic() - began

    assert asyncio.run(main()) < 2


def test_fio_gets_a_file_of_its_own_that_is_removed(tools, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    path = tools("fio", f'for word; do case "$word" in --filename=*) ls -l "${{word#*=}}";; esac; done; ls {data}')
    wanted = commands(There({"fio": str(path)}, None), folder=str(data), token="t")
    run = asyncio.run(run_installed(LocalTransport(), nothing, nothing, Installed("here", wanted)))
    out = run.results[0].out.decode()
    assert run.results[0].exit_code == 0
    assert out.startswith("-rw------- ")
    assert out.splitlines()[-1] == "gpuplanner-fio-t"
    assert list(data.iterdir()) == []


@pytest.mark.parametrize("before", ["file", "link"])
def test_what_lies_there_already_is_neither_written_nor_removed(tools, tmp_path, before):
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    if before == "link":
        (data / "gpuplanner-fio-t").symlink_to(tmp_path / "mine")
    else:
        (data / "gpuplanner-fio-t").write_text("mine", encoding="utf-8")
    path = tools("fio", f"touch {tmp_path}/ran")
    wanted = commands(There({"fio": str(path)}, None), folder=str(data), token="t")
    run = asyncio.run(run_installed(LocalTransport(), nothing, nothing, Installed("here", wanted)))
    assert run.results[0].outcome == "failed"
    assert b"File exists" in run.results[0].err
    assert (data / "gpuplanner-fio-t").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "ran").exists()


def test_a_tool_that_takes_too_long_is_ended_and_the_next_one_runs(tools, monkeypatch):
    slow = tools("nvbandwidth", "echo so far; sleep 300")
    fast = tools("dcgmi", "echo fine")
    wanted = commands(There({"nvbandwidth": str(slow), "dcgm-1": str(fast)}, 1))
    object.__setattr__(wanted[0].command, "limit_s", 0.4)
    run = asyncio.run(run_installed(LocalTransport(), nothing, nothing, Installed("here", wanted), even_if_busy=True))
    assert [(result.outcome, result.out) for result in run.results] == [
        ("timed_out", b"so far\n"),
        ("ended", b"fine\n"),
    ]
    assert run.whole


def test_a_path_that_would_be_read_otherwise_is_left_out(tools, tmp_path, monkeypatch):
    strange = tmp_path / "\x1b[2Jnccl" / "build"
    strange.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{strange}:{os.environ['PATH']}")
    (strange / "all_reduce_perf").write_text("#!/bin/sh\n", encoding="utf-8")
    (strange / "all_reduce_perf").chmod(0o755)
    there = asyncio.run(look(LocalTransport(), nothing))
    assert "nccl-tests" not in there.paths
