"""A text that somebody quoted, pasted into a page, or took from a log says the same as the tool's own output."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.output import Output
from tests.probe.said import DATA, expected, said

EXPECTED = {file: what for path in sorted(DATA.glob("*.yaml")) for file, what in expected(path.stem).items()}


def before_each(mark: str) -> Callable[[str], bytes]:
    def wrap(text: str) -> bytes:
        return "".join(f"{mark}{line}\n" for line in text.splitlines()).encode()

    return wrap


def journal(text: str) -> bytes:
    entry = {"__REALTIME_TIMESTAMP": "1790000000123456", "_HOSTNAME": "node1", "SYSLOG_IDENTIFIER": "run", "_PID": "7"}
    return "".join(json.dumps({**entry, "MESSAGE": line}) + "\n" for line in text.splitlines()).encode()


def of_docker(text: str) -> bytes:
    entry = {"stream": "stdout", "time": "2026-05-01T12:00:00.123456789Z"}
    return "".join(json.dumps({"log": f"{line}\n", **entry}) + "\n" for line in text.splitlines()).encode()


WRAPS: dict[str, Callable[[str], bytes]] = {
    "fence": lambda text: f"```text\n{text.rstrip()}\n```\n".encode(),
    "fence in prose": lambda text: f"This is what it says:\n\n~~~\n{text.rstrip()}\n~~~\n\nThanks!\n".encode(),
    "quote": before_each("> "),
    "quote of a quote": before_each(">> "),
    "journal": before_each("May 01 12:00:00 node1 run[4711]: "),
    "syslog with an ISO date": before_each("2026-05-01T12:00:00.123456+00:00 node1 run[4711]: "),
    "journal as JSON": journal,
    "docker's file": of_docker,
    "docker compose": before_each("gpu-1  | "),
    "kubectl": before_each("[pod/trainer-0/main] "),
    "kubernetes file": before_each("2026-05-01T12:00:00.123456789Z stdout F "),
    "torchrun": before_each("[rank0]: "),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 of Windows": lambda text: text.replace("\n", "\r\n").encode("utf-16-le"),
    "quoted log of a pod": before_each("> [pod/trainer-0/main] 2026-05-01T12:00:00.123456789Z "),
}
IN_A_LOG = ("journal", "syslog with an ISO date", "journal as JSON")


def without_line_numbers(what: dict[str, Any]) -> dict[str, Any]:
    """All but the problems, whose lines are others in a wrapped text."""
    return {section: value for section, value in what.items() if section != "problems"}


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_wrapped_recording_says_the_same(wrap: str) -> None:
    differing = []
    for file, what in EXPECTED.items():
        text = (DATA / file).read_bytes().decode("utf-8", "replace")
        found = without_line_numbers(said(inspect(Output.of(WRAPS[wrap](text), file))))
        # What no tool printed is a log when it stands in one, and says nothing there.
        nothing = {"tool": "dmesg"} if what == {"tool": None} and wrap in IN_A_LOG else {"tool": None}
        if found not in (without_line_numbers(what), nothing if what == {"tool": None} else None):
            differing.append(file)
    assert differing == []


def test_values_name_the_lines_of_the_file_that_was_wrapped() -> None:
    listed = "GPU 0: NVIDIA A40 (UUID: GPU-1)\nGPU 1: NVIDIA A40 (UUID: GPU-2)"
    text = f"My machine:\n\n```\n{listed}\n```\nand\n```\nnode\n```\n"
    gpus = inspect(Output.of(text, "page")).evidence.gpus
    assert [gpu.seen["name"].line for gpu in gpus] == [4, 5]
    assert gpus[0].seen["name"].text == "GPU 0: NVIDIA A40 (UUID: GPU-1)"


def test_two_tools_between_fences_are_both_read() -> None:
    release = "Cuda compilation tools, release 12.4"
    text = f"nvidia-smi -L\n```\nGPU 0: NVIDIA A40 (UUID: GPU-1)\n```\nand\n<pre>\n{release}\n</pre>"
    inspection = inspect(Output.of(text, "page"))
    assert inspection.tool == "nvidia-smi-L"
    assert inspection.evidence.software is not None
    assert inspection.evidence.software.cuda_toolkit_version == "12.4"


def test_a_fence_that_is_never_closed_is_read_too() -> None:
    assert inspect(Output.of("```\nGPU 0: NVIDIA A40 (UUID: GPU-1)", "page")).tool == "nvidia-smi-L"


def test_the_kernels_lines_in_a_journal_as_json_keep_when() -> None:
    entry = {"__REALTIME_TIMESTAMP": "1790000000123456", "_HOSTNAME": "node1", "SYSLOG_IDENTIFIER": "kernel"}
    xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    text = "".join(f"{json.dumps({**entry, 'MESSAGE': said})}\n" for said in ("usb 1-1: new device", xid))
    (event,) = inspect(Output.of(text, "journal")).evidence.events
    assert (event.kind, event.code, event.when) == ("xid", 79, "2026-09-21T14:13:20.123456+00:00")
    assert event.seen["code"].line == 2


@pytest.mark.parametrize(
    "line",
    [
        '{"__REALTIME_TIMESTAMP": "99999999999999999999", "MESSAGE": "x"}',
        '{"__REALTIME_TIMESTAMP": null, "MESSAGE": "NVRM: x"}',
        '{"__REALTIME_TIMESTAMP": "1", "MESSAGE": [78, 86]}',
        '{"log": 5, "stream": "stdout"}',
        '{"log": "a\\u001b[31mGPU", "stream": "stdout"}',
        "[" * 5_000 + '"log"',
        '{"MESSAGE": ' + "[" * 50_000 + "}",
    ],
)
def test_odd_entries_of_logs_are_left_as_they_are(line: str) -> None:
    assert "\x1b" not in Output.of(f"{line}\n" * 3, "log").bare.text
    inspect(Output.of(f"{line}\n" * 3, "log"))


def test_a_table_with_bars_is_no_log_of_a_service() -> None:
    text = "name | value\nGPU 0 | 5\nmodel | x\n"
    assert Output.of(text, "table").bare.text == text


@pytest.mark.parametrize("file", ["lscpu/node.txt", "df/human.txt", "lsblk-findmnt/tree.txt"])
def test_decimal_commas_say_the_same(file: str) -> None:
    """Of tools that follow the locale of a person's shell."""
    text = re.sub(r"(?<=\d)\.(?=\d)", ",", (DATA / file).read_text(encoding="utf-8"))
    assert "," in text
    assert said(inspect(Output.of(text, file))) == EXPECTED[file]


def test_a_problem_names_its_line_of_the_page() -> None:
    log = "NVSMI LOG\nDriver Version : 550.1\nAttached GPUs : 2\nGPU 00000000:1B:00.0\n    Product Name : NVIDIA A40"
    inspection = inspect(Output.of(f"Two lines\nof prose\n```\n{log}\n```\n", "page"))
    assert [(problem.line, problem.message.id) for problem in inspection.problems] == [(8, "probe.nvidia.fewer_gpus")]
