"""`probe --tier b`, against driver libraries with recorded values."""

import io
import json
import os

import pytest

from gpuplanner.cli.main import main

STEPS = ("host_to_device", "device_memory", "arithmetic", "device_to_device", "all_reduce")
GPUS = tuple(word for step in STEPS for word in ("--only", step))


@pytest.fixture
def measure(libraries, monkeypatch, capsys):
    def call(*arguments, sources=("cuda", "nvml"), only=GPUS, **settings):
        libraries.put(*sources)
        for name, value in libraries.environment(**settings).items():
            monkeypatch.setenv(name, value)
        code = main(("probe", "localhost", "--tier", "b", *only, *arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


class Terminal(io.StringIO):
    """Somebody who has typed an answer."""

    def isatty(self):
        return True


def test_what_is_done_is_said_first_and_the_rates_are_printed(measure, libraries):
    code, out, err = measure("--yes", gpus=2)
    assert code == 0
    assert "takes at most 90 s and 512 MiB of each GPU" in err.splitlines()[0]
    assert err.splitlines()[1] == "  0% GPU 0 host to GPU"
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert "host to GPU GPU 0 55.4 GB/s pinned" in rows
    assert "GPU to GPU GPU 0 → 1 26.0 GB/s copy_engine" in rows
    assert "BF16 arithmetic GPU 1 610 TFLOPS ptx_mma" in rows
    assert any(row.startswith("Not measured: all-reduce") for row in rows)
    assert libraries.left() == {}


def test_a_recording_says_the_same(measure, tmp_path, capsys):
    path = tmp_path / "m.gpurun"
    code, out, _ = measure("--yes", "--json", "--save", str(path), gpus=1)
    told = json.loads(out)
    assert (code, told["whole"], told["refused"]) == (0, True, None)
    assert "never run on a GPU" in told["note"]
    assert "never run on a GPU" in path.read_text(encoding="utf-8")
    assert main(("inspect", str(path), "--json")) == 0
    read = json.loads(capsys.readouterr().out)[0]
    assert read["tool"] == "gpuplanner-measure"
    assert read["evidence"]["bandwidths"] == told["evidence"]["bandwidths"]


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("yes\n", 0), ("是\n", 0), ("\n", 1), ("no\n", 1), ("", 1)])
def test_nothing_is_measured_without_a_yes(measure, libraries, monkeypatch, typed, code):
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    got, _, err = measure(gpus=1)
    assert got == code
    assert "Measure now? [y/N]" in err
    assert libraries.ledger.exists() is (code == 0)


def test_where_nobody_can_be_asked_it_wants_to_be_told(measure, libraries, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    code, _, err = measure()
    assert code == 2
    assert "--yes" in err.splitlines()[-1]
    assert not libraries.ledger.exists()


def test_only_what_would_be_done(measure, libraries):
    code, out, err = measure("--commands")
    assert (code, err) == (0, "")
    assert "installs and changes nothing" in out
    assert not libraries.ledger.exists()


def test_refused_where_somebody_computes(measure):
    code, out, _ = measure("--yes", busy=0)
    assert code == 1
    assert "programs compute on its GPUs, so nothing was measured" in out
    assert measure("--yes", "--even-if-busy", busy=0, gpus=1)[0] == 0


def test_a_machine_without_a_driver(measure):
    code, out, _ = measure("--yes", sources=())
    assert code == 1
    assert "libcuda.so.1" in out


def test_testing_the_connection_is_something_else(measure):
    code, _, err = measure("--test")
    assert code == 2
    assert "Leave one of them out" in err


def test_what_was_never_run_on_a_gpu_says_so(measure):
    _, out, err = measure("--yes", gpus=1)
    assert out.splitlines()[-1].startswith("Tested against stand-ins") or "never run on a GPU" in out
    assert "never on a GPU" in err.splitlines()[0]


def test_only_the_disk_needs_no_gpu_and_says_what_it_read_through(measure, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "shard.bin").write_bytes(os.urandom(65 << 20))
    code, out, err = measure("--yes", "--disk", str(folder), only=("--only", "disk"), sources=())
    assert code == 0
    assert err.splitlines()[0].endswith("Of this only: disk, files that lie there.")
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert len(rows) == 3
    assert rows[0].startswith("disk, in a row ")
    assert "GB/s" in rows[0] or "MB/s" in rows[0]
    assert rows[1].startswith("disk, 4 KiB at random, 1 at once ")
    assert all("the page cache" in row for row in rows)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--tier", "b", "--only", "all"), "There is no step “all”"), (("--disk", "/data"), "belongs to --tier b")],
)
def test_options_that_do_not_fit_are_said(run, arguments, said):
    code, _, err = run("probe", "localhost", *arguments)
    assert code == 2
    assert said in err
