"""The program that is sent to a machine, run as it runs there: in a process of its own, spoken to through pipes."""

import ast
import base64
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.probe.there import source_of
from gpuplanner.probe.there.collect import Listening, collect, watch

MARK = "MARK-7"


def command(*argv, limit_s=20.0, limit_bytes=100_000, expand=False):
    return {"id": "one", "argv": list(argv), "limit_s": limit_s, "limit_bytes": limit_bytes, "expand": expand}


def python(code, **limits):
    return command(sys.executable, "-c", code, **limits)


def collected(*commands):
    frames: list[dict[str, Any]] = []
    collect([{**each, "id": f"c{at}"} for at, each in enumerate(commands)], frames.append, threading.Event())
    return {frame["id"]: frame for frame in frames if frame["frame"] == "ended"}


def out(frame):
    return base64.b64decode(frame["out"])


def gone(pid, within_s=2.0):
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except (ProcessLookupError, FileNotFoundError):
            return True
        # Dead, and its parent has not looked yet.
        if stat.rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


def test_what_a_command_prints_comes_back_with_its_code():
    frame = collected(python("import sys; print('café'); print('oh', file=sys.stderr); sys.exit(9)"))["c0"]
    assert (out(frame).decode(), frame["code"], frame["outcome"]) == ("café\n", 9, "ended")
    assert base64.b64decode(frame["err"]) == b"oh\n"


def test_commands_print_untranslated():
    assert out(collected(python("import os; print(os.environ['LC_ALL'], os.environ['LANGUAGE'])"))["c0"]) == b"C C\n"


def test_a_tool_that_is_not_there_and_one_that_may_not_run(tmp_path):
    barred = tmp_path / "tool"
    barred.write_text("#!/bin/sh\n")
    barred.chmod(0o600)
    frames = collected(command("no-such-tool-here"), command(str(barred)))
    assert frames["c0"]["outcome"] == "not_found"
    assert frames["c1"]["outcome"] == "no_permission"


def test_a_command_that_hangs_is_ended_and_what_it_printed_stays():
    began = time.monotonic()
    frame = collected(python("import time; print('first', flush=True); time.sleep(60)", limit_s=0.5))["c0"]
    assert (frame["outcome"], out(frame)) == ("timed_out", b"first\n")
    assert time.monotonic() - began < 5


def test_one_that_does_not_want_to_end_is_killed_with_its_children():
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    frame = collected(python(code, limit_s=0.7))["c0"]
    assert frame["outcome"] == "timed_out"
    assert gone(int(out(frame)))


def test_a_child_that_keeps_the_output_open_does_not_keep_us():
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); print('x')"
    began = time.monotonic()
    frame = collected(python(code, limit_s=0.7))["c0"]
    assert (frame["outcome"], out(frame)) == ("timed_out", b"x\n")
    assert time.monotonic() - began < 5


def test_a_flood_is_cut():
    frame = collected(python("while True: print('y' * 1000)", limit_bytes=50_000))["c0"]
    assert frame["outcome"] == "cut"
    assert len(out(frame)) == 50_000


def test_patterns_become_names_only_where_that_is_asked_for(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).write_text(name)
    frames = collected(command("echo", f"{tmp_path}/*", expand=True), command("echo", f"{tmp_path}/*"))
    assert out(frames["c0"]).decode().split() == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert out(frames["c1"]).decode().strip() == f"{tmp_path}/*"


@pytest.fixture
def sent():
    """The program in a process of its own, given its job as over SSH: as text on standard input."""
    started = []

    def start(commands, patience_s=30.0):
        job = {"mark": MARK, "patience_s": patience_s, "commands": commands}
        text = (source_of("collect") + f"\nmain(json.loads({json.dumps(json.dumps(job))}))\n").encode()
        reading = f"import sys;exec(sys.stdin.buffer.read({len(text)}))"
        process = subprocess.Popen(
            [sys.executable, "-c", reading], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdin is not None
        process.stdin.write(text)
        process.stdin.flush()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def frame_in(line):
    mark, _, rest = line.decode().partition(" ")
    assert mark == MARK
    return json.loads(rest)


def test_the_program_as_text_says_who_it_is_and_ends_by_itself(sent):
    process = sent([command("echo", "hi")])
    frames = [frame_in(line) for line in process.stdout]
    assert [frame["frame"] for frame in frames] == ["hello", "began", "ended", "end"]
    assert frames[-1]["whole"] is True
    assert process.wait(5) == 0
    assert process.stderr.read() == b""


SLEEPER = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"


def sleeping(process, tmp_path):
    """Wait until its command runs; the command writes its process's number into a file."""
    path = tmp_path / "pid"
    end = time.monotonic() + 10
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < end
        time.sleep(0.02)
    return int(path.read_text())


def writes_pid(tmp_path):
    path = str(tmp_path / "pid")
    return python(f"import os, time; open({path!r}, 'w').write(f'{{os.getpid()}}\\n'); time.sleep(60)", limit_s=60)


def test_when_the_other_side_goes_nothing_is_left_running(sent, tmp_path):
    process = sent([writes_pid(tmp_path)])
    pid = sleeping(process, tmp_path)
    process.stdin.close()
    assert process.wait(2) == 0
    assert gone(pid)


def test_when_the_network_is_lost_nothing_is_left_running(sent, tmp_path):
    process = sent([writes_pid(tmp_path)], patience_s=1.5)
    pid = sleeping(process, tmp_path)
    assert process.wait(5) == 0
    assert gone(pid)


class Spoken:
    """A stream on which somebody says something as long as `going` is set, and that then stays open until `ended`."""

    def __init__(self):
        self.going, self.ended = True, False

    def read(self, _size):
        while not self.going and not self.ended:
            time.sleep(0.01)
        time.sleep(0.05)
        return b"" if self.ended else b"\n"


def test_a_sign_of_life_keeps_it_going():
    stream, stop = Spoken(), Listening()
    watcher = threading.Thread(target=watch, args=(stream, stop, 1.0), daemon=True)
    watcher.start()
    assert not stop.wait(1.5)
    stream.going = False
    assert stop.wait(5)
    stream.ended = True
    watcher.join(5)


def test_a_signal_ends_it_and_its_commands(sent, tmp_path):
    process = sent([writes_pid(tmp_path)])
    pid = sleeping(process, tmp_path)
    process.terminate()
    assert process.wait(3) == 0
    assert gone(pid)


def test_it_is_written_for_the_python_of_old_machines():
    ast.parse(source_of("collect"), feature_version=(3, 6))
