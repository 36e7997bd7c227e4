import re

import pytest

from gpuplanner.ui.tokens import DARK, LIGHT, MARKS, Verdict, contrast

THEMES = pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


@THEMES
def test_every_ink_can_be_read_on_every_ground_it_stands_on(tokens):
    grounds = (tokens.workspace, tokens.card, tokens.field, tokens.hover, tokens.primary_wash)
    pairs = [(ink, ground) for ink in (tokens.text, tokens.muted, tokens.primary_ink) for ground in grounds]
    pairs += [(tokens.text, tokens.track), (tokens.muted, tokens.track), (tokens.on_primary, tokens.primary)]
    pairs += [(tokens.on_primary, tokens.primary_hover)]
    for tone in tokens.tones.values():
        pairs += [(tone.ink, tone.wash), (tone.ink, tokens.card)]
    assert [(ink, ground, contrast(ink, ground)) for ink, ground in pairs if contrast(ink, ground) < 4.5] == []


@THEMES
def test_what_is_pointed_at_stands_out_from_its_ground(tokens):
    # Focus rings and the series of charts are graphics: 3 to 1 against the card, or an edge that makes up for it.
    assert contrast(tokens.primary, tokens.card) >= 3
    assert contrast(tokens.primary, tokens.workspace) >= 3
    assert len(set(tokens.series)) == len(tokens.series) == 5


@THEMES
def test_every_verdict_has_a_tone_and_a_mark_of_its_own(tokens):
    assert set(tokens.tones) == set(Verdict) == set(MARKS)
    assert len(set(MARKS.values())) == len(Verdict)


def test_every_icon_that_is_named_is_there_and_every_one_there_is_used(project_root):
    code = "\n".join(path.read_text(encoding="utf-8") for path in (project_root / "gpuplanner" / "ui").rglob("*.py"))
    there = {path.stem for path in (project_root / "resources" / "icons").glob("*.svg")}
    assert {name for name in there if f'"{name}"' not in code} == set()
    named = set(re.findall(r'icon="([a-z0-9-]+)"', code)) | set(re.findall(r'draw_icon\(painter, "([a-z0-9-]+)"', code))
    assert named - there == set()
