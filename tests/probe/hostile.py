"""A machine whose every text is hostile: formulas, escapes of terminals, marks that turn a line, HTML, broken UTF-8."""

import dataclasses
import json
import unicodedata

from gpuplanner.machines.sample import sample_run
from gpuplanner.probe.results import CommandResult, Run

FORMULA = "=cmd|'/C calc'!A1"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x00\u202e\u2066\u2028"
HTML = "<script>alert(1)</script>"
WICKED = f"{FORMULA} {ESCAPES} {HTML}"
IN_JSON = json.dumps(WICKED)[1:-1]
"""Escapes that are none until somebody decodes the text."""
IN_XML = f"{FORMULA} &#27;]0;owned&#7;&#27;[2J&#155;31m&#8238; &lt;script&gt;"


def _hostile(result: CommandResult) -> CommandResult:
    """A result with hostile names wherever names stand, bytes that are no UTF-8, and a line without an end."""
    text = result.out.decode("utf-8")
    words = IN_XML if result.id == "smi.xml" else IN_JSON if text.lstrip().startswith("{") else WICKED
    for name in (
        "NVIDIA H100 80GB HBM3",
        "AMD EPYC 7R13 Processor",
        "Ubuntu 24.04.2 LTS",
        "Amazon",
        "nvme",
        "enp",
        "vm ",
    ):
        text = text.replace(name, f"{name} {words}")
    tail = b"\xff\xfe\xc3(" + b"y" * (100_000 if result.id in {"smi.list", "lscpu"} else 0)
    return dataclasses.replace(
        result, out=text.encode() + (tail if result.id != "measure" else b""), err=WICKED.encode() + b"\n"
    )


def hostile_run() -> Run:
    """What was collected of it."""
    made = sample_run()
    return dataclasses.replace(
        made, target=WICKED, python=WICKED, recorded=False, results=tuple(_hostile(each) for each in made.results),
        asked={id_: (*argv, WICKED) for id_, argv in made.asked.items()},
    )  # fmt: skip


def wicked_in(text: str, allowed: str = "\n") -> list[str]:
    """Characters that speak to a terminal or turn a line around."""
    found = {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} and char not in allowed}
    return sorted(found)
