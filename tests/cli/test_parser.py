"""Mistakes in a command line: one sentence each, in the language asked for, that says what, where and what to do."""

import re

import pytest

from gpuplanner.cli.commands import COMMANDS
from gpuplanner.cli.main import main

NAMES = [command.name for command in COMMANDS]
HAN = re.compile(r"[\u4e00-\u9fff]")
OF_ARGPARSE = re.compile(
    r"usage:|show this help message|the following arguments|invalid|expected|unrecognized|positional arguments"
    r"|optional arguments|not allowed|ignored explicit|show program's",
)
NEEDED = {"catalog add-gpu": ("--vendor", "X", "--memory-gb", "8", "--bandwidth", "100")}
"""Options without which a command does not get as far as an option that it does not know."""
NEEDS_AN_ARGUMENT = [name for name in NAMES if name not in {"presets", "schema", "runs list"}]
NUMBERED = {"runs show", "runs remove"}
"""Commands whose argument is a number."""


def argument(name: str) -> list[str]:
    """An argument that a command takes."""
    if name not in NEEDS_AN_ARGUMENT:
        return []
    return ["1"] if name in NUMBERED else ["gpus"]


def told(capsys: pytest.CaptureFixture[str], language: str, *arguments: str) -> str:
    """The one sentence that a command line gets."""
    assert main(["--lang", language, *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert not OF_ARGPARSE.search(said.err)
    assert bool(HAN.search(said.err)) == (language == "zh")
    return said.err


@pytest.mark.parametrize("language", ["en", "zh"])
class TestEveryCommand:
    @pytest.mark.parametrize("name", NAMES)
    def test_help_has_no_phrase_of_argparse(self, name, language, capsys):
        assert main([*name.split(), "--lang", language, "--help"]) == 0
        out = capsys.readouterr().out
        assert not OF_ARGPARSE.search(out)
        assert out.startswith("用法：" if language == "zh" else "Usage: ")
        assert not re.search(r"[:：]$", out, re.MULTILINE)

    @pytest.mark.parametrize("name", NEEDS_AN_ARGUMENT)
    def test_a_missing_argument_is_named(self, name, language, capsys):
        assert re.search(r"[A-Z]{3,}", told(capsys, language, *name.split()))

    @pytest.mark.parametrize("name", NAMES)
    def test_an_unknown_option_is_named_with_the_nearest(self, name, language, capsys):
        words = [*name.split(), *argument(name), *NEEDED.get(name, ())]
        said = told(capsys, language, *words, "--jsom")
        assert "--jsom" in said
        assert "--json" in said
        assert f"gpuplanner {name} --help" in said

    @pytest.mark.parametrize("name", NAMES)
    def test_an_option_without_its_value_is_named(self, name, language, capsys):
        words = [*name.split(), *argument(name)]
        assert "--lang" in told(capsys, language, *words, "--lang", language, "--lang")

    @pytest.mark.parametrize("name", NAMES)
    def test_a_switch_with_a_value_is_named(self, name, language, capsys):
        words = [*name.split(), *argument(name)]
        assert "--json" in told(capsys, language, *words, "--json=yes")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["estimat"], "estimate"),
        (["nonsense"], "recommend"),
        (["catalog", "serch"], "search"),
        (["catalog", "search", "H100", "--kind", "gpus"], "gpu"),
        (["estimate", "chat-70b", "--gpu", "H100", "SXM5", "80GB"], "“SXM5 80GB”"),
        (["estimate", "chat-70b", "--gpus", "many"], "--gpus"),
        (["presets", "chat-70b", "chat-8b"], "“chat-8b”"),
        (["estimate", "chat-70b", "--gpu", "L4", "--machine", "p5.48xlarge"], "--machine"),
        ([], "COMMAND"),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else "",
)
def test_a_mistake_says_what_helps(arguments, says, language, capsys):
    assert says in told(capsys, language, *arguments)


def test_the_language_may_stand_anywhere(capsys):
    for words in (
        ["--lang", "zh", "catalog", "show"],
        ["catalog", "--lang=zh", "show"],
        ["catalog", "show", "--lang=zh"],
    ):
        assert main(words) == 2
        assert HAN.search(capsys.readouterr().err)


def test_an_option_that_only_begins_like_the_language_chooses_none(capsys):
    assert main(["--lang", "en", "catalog", "search", "H100", "--language", "zh"]) == 2
    assert not HAN.search(capsys.readouterr().err)
