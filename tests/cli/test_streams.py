"""Input and output that are closed, full or cut short, and a person who has seen enough: never a traceback."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

POSIX = pytest.mark.skipif(os.name != "posix", reason="redirects as a POSIX shell does")
SHELL = f"{sys.executable} -m gpuplanner"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True, timeout=60)


@POSIX
@pytest.mark.parametrize(
    ("redirect", "code", "says"),
    [
        ("estimate - --gpu L4 <&-", 2, "standard input"),
        ("estimate - --gpu L4 </dev/null", 2, "standard input is empty"),
        ("schema >&-", 0, ""),
        ("schema 2>&-", 0, ""),
        ("catalog list instances --csv | head -1", 0, ""),
    ],
)
def test_streams_that_are_closed(redirect, code, says):
    done = shell(f"{SHELL} {redirect}")
    assert done.returncode == code
    assert says in done.stderr
    assert done.stderr.count("\n") == (1 if says else 0)


@POSIX
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["estimate", "chat-70b", "--gpu", "L4"], 1),
        (["estimate", "chat-70b", "--gpu", "L4", "--json"], 1),
        (["check", "--no-history", "kernel.log"], 1),
        (["diagnose", "--no-history", "kernel.log"], 1),
        (["schema"], 0),
    ],
)
def test_where_nobody_reads_the_answer_its_exit_code_is_the_same(arguments, code, tmp_path):
    (tmp_path / "kernel.log").write_text("[ 5.1] NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus\n")
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "gpuplanner", *arguments]
    try:
        done = subprocess.run(
            command, check=False, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, cwd=tmp_path
        )
    finally:
        os.close(writing)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", ["schema", "presets", "catalog show L4", "catalog list gpus --csv"])
def test_a_full_disk_behind_the_output_is_one_sentence(command):
    done = shell(f"{SHELL} {command} >/dev/full")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "could not be written" in done.stderr


@POSIX
@pytest.mark.parametrize("seconds", [0.05, 0.15, 0.4, 0.9])
def test_an_interrupt_says_nothing_and_leaves_nothing(seconds):
    """Python itself needs a moment until the program begins; before that nobody can catch it."""
    script = "import gpuplanner.__main__ as m, sys; print('begun', flush=True); sys.exit(m.main())"
    command = [sys.executable, "-c", script, "recommend", "pretrain-7b", "--why-not"]
    # A shell that runs these tests in the background has them ignore interrupts, and what they start as well.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGINT, before)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(seconds)
        if process.poll() is not None:
            pytest.skip("it was done before the interrupt came")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert said == ""
    assert process.returncode == 130


WITHIN_A_CALLBACK = """
import sys, weakref
import gpuplanner.__main__ as program
import gpuplanner.cli.main as command

class Thing: pass

def interrupted(_):
    raise KeyboardInterrupt

def run(_arguments):
    thing = Thing()
    reference = weakref.ref(thing, interrupted)
    del thing
    print("went on")
    return 0

command.main = run
sys.exit(program.main())
"""


def test_an_interrupt_within_a_callback_of_the_interpreter_is_not_lost():
    done = subprocess.run(
        [sys.executable, "-c", WITHIN_A_CALLBACK, "presets"], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", ["estimate nowhere.gpuplan", "estimate nowhere.gpuplan --json"])
def test_a_fault_that_cannot_be_told_is_still_in_the_exit_code(arguments):
    command = f"{sys.executable} -m gpuplanner {arguments} >/dev/full 2>/dev/full"
    done = subprocess.run(["sh", "-c", command], timeout=30, check=False)
    assert done.returncode == 2
