"""Sentences for people: whatever a foreign value holds, it stays on one line, short, and cannot speak to a terminal."""

import re

import pytest
from babel.messages.pofile import read_po

from gpuplanner.cli.program import COMMAND_WORDS
from gpuplanner.messages import LONGEST_VALUE, InputError, Language, Translator, for_spreadsheet, msg, shortened
from gpuplanner.paths import shipped
from gpuplanner.ui.appearance import FACE

ENGLISH = Translator(Language.ENGLISH)


@pytest.mark.parametrize("hostile", ["\x1b[31mred\x07", "a\nb\rc", "\u202etxt.exe", "zero\u200bwidth", "\ud800", "\0"])
def test_a_foreign_value_cannot_speak_to_the_terminal(hostile: str) -> None:
    said = ENGLISH.text(msg("workspace.unknown_model", id=hostile))
    assert said.isprintable()
    assert "�" in said


def test_other_scripts_and_their_spaces_stay_as_they_are() -> None:
    name = "英伟达\u3000H100 {x} 1\u202f000"
    assert name in ENGLISH.text(msg("workspace.unknown_model", id=name))


def test_a_value_inside_a_message_inside_a_message_is_made_safe_too() -> None:
    inner = msg("workspace.unknown_model", id="\x1b[2J" + "m" * 10_000)
    said = ENGLISH.text(InputError(msg("model.file.refused", file="f", why=inner)).message)
    assert "\x1b" not in said
    assert len(said) < 2 * LONGEST_VALUE


def test_an_error_stays_short_whatever_a_name_holds() -> None:
    assert len(ENGLISH.text(InputError(msg("workspace.unknown_model", id="x" * 100_000)).message)) < 400


def test_the_window_names_what_can_be_clicked_where_the_command_line_names_an_option() -> None:
    message = msg("own.on_which_machine", file="bench.json")
    window = Translator(Language.ENGLISH, face=FACE)
    assert "--gpu" in ENGLISH.text(message)
    assert window.text(message) == "bench.json: this plan names no machine. Choose the one that it ran on."
    assert window.text(msg("ui.undo")) == ENGLISH.text(msg("ui.undo"))
    nested = msg("model.file.refused", file="f", why=message)
    assert "--gpu" not in window.text(nested)


TYPED = re.compile(
    r"(?<![\w-])--[a-z]|=true\b"
    rf"|gpuplanner ({'|'.join(sorted(COMMAND_WORDS))})\b"
)
IN_A_TERMINAL = {
    "answers.gpu.next", "explain.above_deeper", "own.kept", "own.none_kept", "own.which", "rates.cli.how",
    "rates.cli.slowest", "ui.no_display",
}  # fmt: skip
"""Texts that the command line alone prints."""
FLAGS_OF_OTHERS = {"cli", "field", "reference"}
"""Domains of the command line itself, and of the options of servers."""


@pytest.mark.parametrize("language", Language)
def test_no_sentence_of_the_window_asks_to_type_a_command(language: Language) -> None:
    folder = shipped("resources") / "locale" / language.value / "LC_MESSAGES"
    window = Translator(language, face=FACE)
    found = set()
    for path in folder.glob("*.po"):
        if path.stem not in FLAGS_OF_OTHERS:
            with path.open("rb") as file:
                texts = {str(entry.id): str(entry.string) for entry in read_po(file) if entry.id}
            found |= {name for name, text in texts.items() if TYPED.search(text) and not window.has(f"{name}.{FACE}")}
            assert not [name for name, text in texts.items() if name.endswith(f".{FACE}") and TYPED.search(text)]
    assert found == IN_A_TERMINAL


def test_of_a_long_text_both_ends_are_kept() -> None:
    path = "/folder" * 100 + "/my.gpuplan"
    assert len(shortened(path)) == LONGEST_VALUE
    assert shortened(path).startswith("/folder/folder")
    assert shortened(path).endswith("/my.gpuplan")
    assert shortened("short") == "short"


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@y", "\tz", "-1+2"])
def test_no_cell_is_a_formula_for_a_spreadsheet(text: str) -> None:
    assert for_spreadsheet(text) == f"'{text}"


@pytest.mark.parametrize("text", ["A100", "", "-1.5", "+2", "1e-3", "a=b"])
def test_numbers_and_words_stay_as_they_are_in_a_spreadsheet(text: str) -> None:
    assert for_spreadsheet(text) == text
