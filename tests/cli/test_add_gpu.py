"""`catalog add-gpu`: a missing GPU from six fields becomes an entry of one's own that plans can use."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuplanner.cli.main import main
from gpuplanner.workspace import home_folder

SIX = ["--vendor", "NVIDIA", "--memory-gb", "48", "--bandwidth", "1200", "--bf16-tflops", "250"]
PCIE = ["--pcie-generation", "5"]


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def added(capsys: pytest.CaptureFixture[str]) -> Any:
    code, answer = run_json(capsys, "catalog", "add-gpu", "Example X1", *SIX, *PCIE)
    assert code == 0
    return answer


def test_the_entry_is_kept_and_read_as_the_persons_own(added: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert added["id"] == "nvidia-example-x1"
    assert added["facts"]["hbm_bytes_per_s"] == 1.2e12
    assert added["facts"]["pcie_bytes_per_s"] == pytest.approx(63e9)
    kept = Path(added["file"])
    assert kept.parent == home_folder() / "overlays"
    assert yaml.safe_load(kept.read_text(encoding="utf-8"))["gpus"][0]["name"] == "Example X1"
    assert [path.name for path in kept.parent.iterdir()] == [kept.name], "no draft is left behind"
    code, found = run_json(capsys, "catalog", "resolve", "Example X1")
    assert (code, found["id"]) == (0, "nvidia-example-x1")


def test_an_estimate_on_it_stands_on_no_rung_of_its_own_and_has_a_wide_range(
    added: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    _, own = run_json(capsys, "estimate", "chat-8b", "--gpu", added["id"])
    _, known = run_json(capsys, "estimate", "chat-8b", "--gpu", "L40S")
    new, measured = own["metrics"]["tpot_s"], known["metrics"]["tpot_s"]
    assert new["rung"] in {"other architecture", "roofline only"}
    assert measured["rung"] == "same GPU"
    assert new["high"] / new["low"] > measured["high"] / measured["low"]


def test_what_makes_it_better_is_kept_too(capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--link", "NVLink", "--link-rate", "150", "--power", "400", "--compute-capability", "8.9"]
    said = ["--architecture", "ada lovelace", "--source", "datasheet of the vendor, page 2"]
    code, answer = run_json(capsys, "catalog", "add-gpu", "Example X2", *SIX, "--pcie", "60", *more, *said)
    assert code == 0
    assert answer["facts"]["link_bytes_per_s"] == 150e9
    _, estimate = run_json(capsys, "estimate", "chat-8b", "--gpu", "Example X2")
    assert estimate["metrics"]["tpot_s"]["rung"] == "same architecture"
    assert "power_w" in estimate["metrics"]
    assert not estimate["unmet"]
    _, shown = run_json(capsys, "catalog", "show", "Example X2")
    assert "datasheet of the vendor, page 2" in json.dumps(shown)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["H100 SXM5 80GB", *SIX, *PCIE], "answers.gpu.known"),
        (["Example X3", *SIX], "answers.gpu.no_pcie"),
        (["Example X3", *SIX[:-2], *PCIE], "answers.gpu.no_rate"),
        (["Example X3", "--vendor", "NVIDIA"], "cli.parser.missing"),
        (["Example X3", *SIX[:4], "--bandwidth", "1200000", "--bf16-tflops", "250", *PCIE], "out_of_range"),
        (["=cmd()", *SIX, *PCIE], "overlay"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_leaves_nothing(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, answer = run_json(capsys, "catalog", "add-gpu", *arguments)
    assert code == 2
    assert answer["error"]["message"]
    if problem.startswith(("answers", "cli")):
        assert answer["error"]["id"] == problem
    overlays = home_folder() / "overlays"
    assert not overlays.exists() or not list(overlays.iterdir())


def test_a_second_of_the_same_name_is_refused(added: Any, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(added["file"]).read_bytes()
    code, answer = run_json(capsys, "catalog", "add-gpu", "example x1", *SIX, *PCIE)
    assert (code, answer["error"]["id"]) == (2, "answers.gpu.known")
    assert Path(added["file"]).read_bytes() == before


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_text_says_where_and_how_to_go_on(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "add-gpu", "Example", "X1", *SIX, *PCIE, "--lang", language]) == 0
    said = capsys.readouterr().out
    assert "nvidia-example-x1.yaml" in said
    assert "gpuplanner estimate chat-8b --gpu" in said
