"""Sentences for people: whatever a foreign value holds, it stays on one line, short, and cannot speak to a terminal."""

import pytest

from gpuplanner.messages import LONGEST_VALUE, InputError, Language, Translator, msg, shortened

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


def test_of_a_long_text_both_ends_are_kept() -> None:
    path = "/folder" * 100 + "/my.gpuplan"
    assert len(shortened(path)) == LONGEST_VALUE
    assert shortened(path).startswith("/folder/folder")
    assert shortened(path).endswith("/my.gpuplan")
    assert shortened("short") == "short"
