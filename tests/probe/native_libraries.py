"""Shared libraries with the functions of NVIDIA's, compiled from our own sources with recorded values.

A program that is run with `environment` finds them under their real names and calls them through their real ABI.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from gpuplanner.probe.transports.programs import READER, Program

SOURCES = Path(__file__).parent / "native"
NAMES = {
    "cuda": "libcuda.so.1", "nvml": "libnvidia-ml.so.1", "cublas": "libcublas.so.12", "cublaslt": "libcublasLt.so.12",
    "nccl": "libnccl.so.2",
}  # fmt: skip
MARK = "MARK-9"


def compiler() -> str:
    """The C compiler. Skips where there is none, or where libraries are no `.so`."""
    found = shutil.which("cc") or shutil.which("gcc")
    if found is None or not sys.platform.startswith("linux"):
        pytest.skip("the libraries of the driver are made by a C compiler on Linux, and there is none here")
    return found


@functools.cache
def _compiled(source: str, flags: tuple[str, ...], folder: Path) -> Path:
    target = folder / ("-".join((source, *flags)) + ".so")
    words = [compiler(), "-shared", "-fPIC", "-O1", *flags, "-o", str(target), str(SOURCES / f"{source}.c"), "-ldl"]
    subprocess.run(words, check=True, capture_output=True)
    return target


class Libraries:
    """A folder with the libraries that a machine is to have."""

    def __init__(self, folder: Path, compiled: Path) -> None:
        self.folder = folder
        self._compiled = compiled
        self.ledger = folder / "ledger.json"

    def put(self, *sources: str, old: bool = False) -> None:
        """These, as an old driver has them where `old`."""
        for source in sources:
            flags = ("-DOLD",) if old else ()
            shutil.copy(_compiled(source, flags, self._compiled), self.folder / NAMES[source])

    def environment(self, **settings: object) -> dict[str, str]:
        """What makes a program find them. `settings`: what the libraries are to do, without STUB_ before the names."""
        told = {f"STUB_{name.upper()}": str(value) for name, value in settings.items()}
        return {**os.environ, "LD_LIBRARY_PATH": str(self.folder), "STUB_LEDGER": str(self.ledger), **told}

    def left(self) -> dict[str, int]:
        """What the driver counts as taken and not given back."""
        counts: dict[str, int] = json.loads(self.ledger.read_text(encoding="utf-8"))
        return {name: count for name, count in counts.items() if count and name != "bytes_most"}

    def most_bytes(self) -> int:
        """The most that one GPU's buffers were at any time."""
        return int(json.loads(self.ledger.read_text(encoding="utf-8"))["bytes_most"])


class There:
    """A program in a process of its own, given its job as over SSH: as text on standard input."""

    def __init__(self, program: Program, job: dict[str, Any], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", READER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
        )  # fmt: skip
        self.input, self.output, self.errors = _pipes(self.process)
        self.input.write(program.text(MARK, 30.0, job))
        self.input.flush()

    def next(self) -> dict[str, Any]:
        """The next frame."""
        mark, _, rest = self.output.readline().decode().partition(" ")
        assert mark == MARK, self.errors.read().decode()
        frame: dict[str, Any] = json.loads(rest)
        return frame

    def frames(self) -> list[dict[str, Any]]:
        """All frames up to the last one."""
        found = [self.next()]
        while found[-1]["frame"] != "end":
            found.append(self.next())
        assert self.process.wait(5) == 0
        return found

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        for stream in (self.input, self.output, self.errors):
            stream.close()


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdin, process.stdout, process.stderr


@pytest.fixture(scope="session")
def compiled_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the compiled libraries of this run are."""
    compiler()
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture
def libraries(tmp_path: Path, compiled_libraries: Path) -> Libraries:
    """A machine without any of them yet."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    return Libraries(folder, compiled_libraries)


@pytest.fixture
def start(libraries: Libraries) -> Iterator[Callable[..., There]]:
    """Starts programs and ends them after the test."""
    started: list[There] = []

    def make(program: Program, job: dict[str, Any], **settings: object) -> There:
        started.append(There(program, job, libraries.environment(**settings)))
        return started[-1]

    yield make
    for there in started:
        there.close()
