"""Models read from files on the command line: what is doubtful of them is said there as the window says it."""

import json
from pathlib import Path

import pytest

from gpuplanner.cli.main import main
from tests.workload.model_samples import LLAMA, write_json

ON = ("--gpu", "H100 SXM5 80GB", "--set", "input_tokens=100", "--set", "output_tokens=100")


@pytest.fixture
def shrunk(tmp_path: Path) -> str:
    """A configuration in a folder whose name says another size."""
    folder = tmp_path / "Llama-70B"
    folder.mkdir()
    return str(write_json(folder / "config.json", LLAMA))


def test_a_size_that_contradicts_the_name_is_said(user_home: Path, shrunk: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--lang", "en", "estimate", "chat-8b", "--model", shrunk, *ON, "--json"]) == 0
    said = capsys.readouterr()
    assert "says 70 B" in said.err
    assert json.loads(said.out)


def test_what_the_answer_says_itself_is_not_said_twice(user_home: Path, tmp_path: Path, capsys):
    file = write_json(tmp_path / "config.json", {**LLAMA, "quantization_config": {"quant_method": "pixie-dust"}})
    assert main(["--lang", "en", "estimate", "chat-8b", "--model", str(file), *ON]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.count("quantisation of the file") == 1
