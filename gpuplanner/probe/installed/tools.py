"""The tools that measure a machine, and the argument list that each is run with. Runs nothing.

Arguments: nvbandwidth's help (0.7), nccl-tests' README, DCGM's user guide, fio's manual, gpu-burn's help. Written from
these, and never run on a machine with a GPU.
"""

import posixpath
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpuplanner.messages import InputError, Message, msg, on_one_line, shortened
from gpuplanner.probe.commands import Command, Topic

PREFIX = "installed."
"""Before the ids of these commands, by which a run is known to hold some."""
MIB = 1 << 20
FIO_FILE_BYTES = 1 << 30
FIO_RUNTIME_S = 8
BURN_S = 30
OWN_LIMIT_S = 900.0
LONGEST_OUTPUT = 16 * MIB
_TESTS = (
    "host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "host_to_device_bidirectional_memcpy_ce",
    "device_to_host_bidirectional_memcpy_ce",
)  # fmt: skip
_TESTS_OF_PAIRS = ("device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce")


@dataclass(frozen=True, slots=True)
class There:
    """What was found on a machine. `paths`: of tools by their id; `gpus`: how many, None where that cannot be told."""

    paths: dict[str, str]
    gpus: int | None


Arguments = Callable[[str, int], tuple[str, ...] | None]
"""The argument list from the tool's path and the number of GPUs; None where the tool has nothing to do there."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `names`: of its program; `places`: where it lies beside the search path, as patterns.

    `named`: that it runs only when a person names it. `usual_s`: how long it usually takes; `limit_s`: when it is
    stopped.
    """

    id: str
    names: tuple[str, ...]
    places: tuple[str, ...]
    arguments: Arguments
    usual_s: float
    limit_s: float
    topic: Topic = Topic.GPUS
    named: bool = False
    loads_gpus: bool = True


@dataclass(frozen=True, slots=True)
class InstalledCommand:
    """A command as it will run. `note`: what it takes and leaves. `file`: what is made for it and removed after."""

    command: Command
    usual_s: float
    loads_gpus: bool
    note: Message
    file: str | None = None


def _nvbandwidth(path: str, gpus: int) -> tuple[str, ...]:
    return (path, "-t", *_TESTS, *(_TESTS_OF_PAIRS if gpus > 1 else ()))


def _all_reduce(path: str, gpus: int) -> tuple[str, ...] | None:
    # Up to twice the size at which the check looks for the plateau; buffers of 3 GiB on each GPU.
    return (path, "-b", "8M", "-e", "1G", "-f", "2", "-g", str(gpus)) if gpus > 1 else None


def _burn(path: str, _gpus: int) -> tuple[str, ...]:
    return (path, "-m", "50%", "-c", posixpath.join(posixpath.dirname(path), "compare.ptx"), str(BURN_S))


_NCCL_TESTS = (
    "~/nccl-tests/build", "/opt/nccl-tests/build", "/opt/nccl_tests/build", "/usr/local/nccl-tests/build",
    "/usr/local/cuda*/efa/test-cuda-*",
)  # fmt: skip
TOOLS: tuple[Tool, ...] = (
    Tool("nvbandwidth", ("nvbandwidth",), ("~/nvbandwidth", "/opt/nvbandwidth", "/usr/local/nvbandwidth"),
         _nvbandwidth, 40, 300, Topic.LINKS),
    Tool("nccl-tests", ("all_reduce_perf",), _NCCL_TESTS, _all_reduce, 40, 300, Topic.LINKS),
    Tool("dcgm-1", ("dcgmi",), (), lambda path, _: (path, "diag", "-r", "1"), 10, 120, Topic.HEALTH),
    Tool("dcgm-2", ("dcgmi",), (), lambda path, _: (path, "diag", "-r", "2"), 150, 600, Topic.HEALTH, named=True),
    Tool("gpu-burn", ("gpu_burn", "gpu-burn"), ("~/gpu-burn", "/opt/gpu-burn", "/usr/local/gpu-burn"),
         _burn, BURN_S + 10, BURN_S + 90, Topic.HEALTH, named=True),
)  # fmt: skip
"""In the order in which they run."""
FIO = Tool(
    "fio", ("fio",), (), lambda _path, _gpus: None, 3 * FIO_RUNTIME_S + 10, 180, Topic.STORAGE, named=True,
    loads_gpus=False,
)  # fmt: skip
"""It writes, so that it runs only in a folder that a person names."""
_NOTES = {
    "nvbandwidth": msg("probe.installed.note.nvbandwidth"),
    "nccl-tests": msg("probe.installed.note.nccl_tests"),
    "dcgm-1": msg("probe.installed.note.dcgm"),
    "dcgm-2": msg("probe.installed.note.dcgm"),
    "gpu-burn": msg("probe.installed.note.gpu_burn"),
}
NAMES = (*(tool.id for tool in TOOLS),)


def chosen(wanted: Sequence[str]) -> tuple[Tool, ...]:
    """The tools that run: those named, or where none are all that need not be named. Raises InputError."""
    for name in wanted:
        if name not in NAMES:
            raise InputError(
                msg("probe.installed.unknown", tool=shortened(on_one_line(name), 40), tools=", ".join(NAMES))
            )
    return tuple(tool for tool in TOOLS if (tool.id in wanted if wanted else not tool.named))


def commands(
    there: There, wanted: Sequence[str] = (), *, folder: str | None = None, token: str = "", own: Sequence[str] = ()
) -> tuple[InstalledCommand, ...]:
    """What runs on a machine, of the tools that are there.

    `folder`: where fio makes its file, whose name ends with `token`. `own`: a person's own commands, as typed.
    Raises InputError.
    """
    gpus = there.gpus or 1
    made: list[InstalledCommand] = []
    for tool in chosen(wanted) if wanted or not (folder or own) else ():
        path = there.paths.get(tool.id)
        argv = tool.arguments(path, gpus) if path else None
        if argv is not None:
            made.append(_command(tool, argv))
    if folder is not None:
        checked_folder(folder)
        path = there.paths.get(FIO.id)
        if path:
            file = posixpath.join(folder, f"gpuplanner-fio-{token}")
            made.append(_command(FIO, _fio(path, file), file))
    made += [own_command(text, at) for at, text in enumerate(own)]
    return tuple(made)


def checked_folder(folder: str) -> None:
    """Raises InputError where it is no absolute path, or one that fio would read as something else."""
    if not folder.startswith("/") or any(sign in folder for sign in ":\\\n\0%$") or len(folder) > 1000:
        raise InputError(msg("probe.installed.folder", folder=shortened(on_one_line(folder), 80)))


def own_command(text: str, at: int) -> InstalledCommand:
    """A person's own command: words as a shell would take them, given to no shell. Raises InputError."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words or "\0" in text:
        raise InputError(msg("probe.installed.own", command=shortened(on_one_line(text), 80)))
    command = Command(f"{PREFIX}own-{at + 1}", Topic.GPUS, tuple(words), OWN_LIMIT_S, LONGEST_OUTPUT)
    return InstalledCommand(command, OWN_LIMIT_S, loads_gpus=True, note=msg("probe.installed.note.own"))


def _command(tool: Tool, argv: tuple[str, ...], file: str | None = None) -> InstalledCommand:
    command = Command(PREFIX + tool.id, tool.topic, argv, tool.limit_s, LONGEST_OUTPUT)
    note = _NOTES[tool.id] if file is None else msg("probe.installed.note.fio", file=file)
    return InstalledCommand(command, tool.usual_s, tool.loads_gpus, note, file)


def _fio(path: str, file: str) -> tuple[str, ...]:
    """Write it, read it in a row, read it at random: each past the page cache."""
    jobs = (("write", "1M", 16), ("read", "1M", 16), ("randread", "4k", 32))
    return (
        path, "--output-format=json", f"--filename={file}", f"--size={FIO_FILE_BYTES}", "--direct=1",
        "--ioengine=libaio", f"--runtime={FIO_RUNTIME_S}",
        *(word for name, block, depth in jobs for word in (
            f"--name={name}", "--stonewall", f"--rw={name}", f"--bs={block}", f"--iodepth={depth}",
        )),
    )  # fmt: skip
