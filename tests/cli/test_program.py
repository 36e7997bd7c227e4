"""Commands are named as the person can type them: by the program's name, its path, or the module."""

import sys

import pytest

from gpuplanner.cli.commands import COMMANDS
from gpuplanner.cli.program import COMMAND_WORDS, CommandTranslator, called
from gpuplanner.messages import Language

HERE = "/home/someone/gpuplanner"


@pytest.mark.parametrize(
    ("argument", "executable", "found", "expected"),
    [
        (f"{HERE}/gpuplanner/__main__.py", f"{HERE}/.venv/bin/python", True, ".venv/bin/python -m gpuplanner"),
        (f"{HERE}/gpuplanner/__main__.py", "/usr/bin/python3", False, "/usr/bin/python3 -m gpuplanner"),
        (".venv/bin/gpuplanner", f"{HERE}/.venv/bin/python", False, ".venv/bin/gpuplanner"),
        (f"{HERE}/.venv/bin/gpuplanner", f"{HERE}/.venv/bin/python", False, ".venv/bin/gpuplanner"),
        (".venv/bin/gpuplanner", f"{HERE}/.venv/bin/python", True, "gpuplanner"),
        ("/usr/bin/pytest", "/usr/bin/python3", False, "gpuplanner"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the paths are those of Unix")
def test_the_program_is_called_as_it_was_started(argument, executable, found, expected, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if found else None)
    assert called(argument, executable, HERE) == expected


def test_every_command_is_known_by_its_word():
    assert {command.name.split()[0] for command in COMMANDS} == set(COMMAND_WORDS)


@pytest.mark.parametrize("language", list(Language))
def test_messages_name_it_so_once_and_nothing_else_changes(language):
    named = CommandTranslator(language, ".venv/bin/python -m gpuplanner")
    text = named.text("cli.explain_hint")
    assert text.count(".venv/bin/python -m gpuplanner explain") == 1
    assert named.text("cli.help.version") == CommandTranslator(language, "gpuplanner").text("cli.help.version")
    for example in named.text("cli.examples.explain").splitlines()[1:]:
        assert example.strip().startswith(".venv/bin/python -m gpuplanner explain")
        assert example.count("python -m") == 1
