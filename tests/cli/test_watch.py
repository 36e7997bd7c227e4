"""`watch`, against an NVML with recorded values."""

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpuplanner.cli.context import Context
from gpuplanner.cli.main import main
from gpuplanner.cli.program import CommandTranslator
from gpuplanner.cli.watch_command import Watching
from gpuplanner.machines import low_utilization
from gpuplanner.messages import Language


def readable_kernel_log():
    try:
        with Path("/dev/kmsg").open("rb"):
            return True
    except OSError:
        return False


@pytest.fixture
def watch(libraries, monkeypatch, capsys):
    def call(*arguments, sources=("nvml",), **settings):
        libraries.put(*sources)
        for name, value in libraries.environment(**settings).items():
            monkeypatch.setenv(name, value)
        code = main(("watch", "localhost", "--interval", "0.1", *arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_a_line_a_sample_and_gpu_and_marks_for_throttling(watch):
    code, out, err = watch("--seconds", "0.9", gpus=2, hot=1)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[:2] == ["GPU 0: NVIDIA Stub 0", "GPU 1: NVIDIA Stub 1"]
    assert lines[2].split()[:4] == ["time", "GPU", "use", "memory"]
    of_one = [line for line in lines[3:] if line.split()[2] == "1" and "throttled" not in line]
    assert of_one[0].split()[3:14] == [
        "87%", "2,048", "MiB", "1,755", "MHz", "2,619", "MHz", "431.5", "W", "62", "°C",
    ]  # fmt: skip
    # What is asked once a second stays to be seen.
    assert "2.0 GB/s   1.0 GB/s" in of_one[-1]
    assert sum("▼ heat (hardware)" in line for line in of_one) == 2
    told = [line for line in lines if "throttled" in line]
    assert told == ["GPU 1 is throttled: heat (hardware)", "GPU 1 is throttled no more"]


def test_as_lines_of_json(watch):
    code, out, _ = watch("--seconds", "0.5", "--json", gpus=1, busy=0)
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {row["gpu"] for row in rows} == {0, None}
    assert rows[0]["power_w"] == 431.5
    assert (rows[0]["throttle_reasons"], rows[0]["throttled"]) == (4, [])
    assert [row["processes"] for row in rows if "processes" in row] == [
        [{"pid": 4242, "used_bytes": 3 << 30, "name": ""}]
    ]


def test_a_lost_gpu(watch):
    _, out, _ = watch("--seconds", "0.1", gpus=1, lost=0)
    assert "fallen off the bus" in out


def test_a_machine_without_a_gpu_shows_its_host_and_says_so(watch):
    code, out, err = watch("--seconds", "0.1", sources=())
    assert code == 1
    assert "No NVIDIA driver there: libnvidia-ml.so.1 is missing. The host alone is shown." in err
    assert "host" in out.splitlines()[-1]


@pytest.mark.parametrize(("option", "given"), [("--interval", "0.01"), ("--interval", "x"), ("--seconds", "nan")])
def test_times_that_are_none(watch, option, given):
    code, _, err = watch(option, given)
    assert code == 2
    assert f"{given} is no time in seconds" in err


def test_ctrl_c_ends_it_cleanly(libraries):
    libraries.put("nvml")
    words = [sys.executable, "-m", "gpuplanner", "watch", "localhost", "--interval", "0.1", "--json"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=libraries.environment(gpus=1)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        json.loads(process.stdout.readline())
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read().decode()
        assert (process.wait(10), process.stderr.read()) == (0, b"")
        assert time.monotonic() - began < 3
        assert all(json.loads(line) for line in rest.splitlines())


def test_at_its_end_it_says_how_much_the_gpus_worked_and_why(libraries, monkeypatch, capsys):
    libraries.put("nvml")
    for name, value in libraries.environment(gpus=2, xid_gpu=1, xid=63).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(low_utilization, "LEAST_S", 1.0)
    assert main(("watch", "localhost", "--interval", "0.1", "--seconds", "1.4")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "GPU 1: Xid 63" in lines
    assert "Utilisation 87%" in lines
    assert main(("watch", "localhost", "--interval", "0.1", "--seconds", "1.4", "--json")) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["utilization_percent"] == 87
    assert last["cause"] in set(low_utilization.Cause)


def test_without_events_and_without_root_it_says_that_xids_are_not_told(watch):
    _, _, err = watch("--seconds", "0.1", gpus=1, no_events=1)
    # Whoever may read the kernel's log is told of them by it.
    assert ("Xids are not told" in err) is (not readable_kernel_log())


def test_a_sample_of_eight_gpus_is_one_write(monkeypatch):
    """Ten samples a second of eight GPUs: a write a line costs more than all the rest."""

    class Counting(io.StringIO):
        flushed = 0

        def flush(self):
            self.flushed += 1

    out = Counting()
    monkeypatch.setattr(sys, "stdout", out)
    Watching(Context(CommandTranslator(Language.ENGLISH)), as_json=True).heard(
        {"frame": "sample", "at_s": 0.0, "gpus": [{"gpu": gpu, "power_w": 1.0} for gpu in range(8)]}
    )
    assert (out.flushed, len(out.getvalue().splitlines())) == (1, 8)
