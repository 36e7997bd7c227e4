"""`--json`: whatever goes wrong comes as JSON too, and every derivation is JSON that any program reads."""

import itertools
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.explain_command import derivation_data, named_figures
from gpuplanner.cli.main import main
from gpuplanner.figures import Argument, Formula, Step, exact
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.units import Unit
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace

MACHINES = (
    MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=1, per_node=1),
    MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=8, per_node=8),
    MachineChoice(gpu_id="nvidia-l4", gpus=1, per_node=1),
)


def refuse(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")


def test_every_derivation_of_every_kind_is_json(user_home: Path) -> None:
    workspace = Workspace(user_home)
    context = Context(Translator(Language.ENGLISH))
    explained = {plan.workload.kind: 0 for plan in workspace.presets.values()}
    for preset, machine in itertools.product(workspace.presets.values(), MACHINES):
        try:
            made = workspace.explained(preset.model_copy(update={"machine": machine}))
        except InputError:
            continue
        for name, figure in named_figures(made):
            rows = derivation_data(figure, context)
            text = json.dumps(rows, allow_nan=False)
            assert json.loads(text, parse_constant=refuse) == rows, name
        explained[preset.workload.kind] += 1
    assert all(explained.values()), explained


@pytest.mark.parametrize(("value", "written"), [(math.inf, "inf"), (-math.inf, "-inf"), (math.nan, None), (2.5, 2.5)])
def test_an_input_without_limit_is_text_and_one_that_is_no_number_is_unknown(value: float, written: Any) -> None:
    step = Step(Formula("x", Unit.SECOND, "a", ""), 1.0, (Argument("a", value),))
    rows = derivation_data(exact(1.0, Unit.SECOND, step), Context(Translator(Language.ENGLISH)))
    assert all(row["value"] in {written, 1.0} for row in rows)  # what has no limit may also be left out
    json.dumps(rows, allow_nan=False)


def test_a_fault_of_our_own_is_json_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_home: Path) -> Workspace:
        raise ZeroDivisionError

    monkeypatch.setattr("gpuplanner.workspace.Workspace", broken)
    assert main(["estimate", "chat-8b", "--gpu", "L4", "--json"]) == 70
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]["id"] == "cli.our_fault"
    assert "ZeroDivisionError" in said.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", ["presets --json", "estimate nowhere.gpuplan --json"])
def test_a_full_disk_is_json_beside_the_output(words: str) -> None:
    command = f"{sys.executable} -m gpuplanner {words} >/dev/full"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert json.loads(done.stderr)["error"]["message"]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_json_is_never_printed_as_such(value: float, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"value": value})
    assert capsys.readouterr().out == ""
