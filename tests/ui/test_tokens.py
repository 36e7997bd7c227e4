import itertools
import math
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


# What people see to whom one kind of cone is missing: Viénot, Brettel and Mollon 1999, in linear RGB.
DICHROMATS = {
    "protan": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    "deutan": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
}


def linear(colour):
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def lab(rgb):
    """CIE L*a*b* of linear sRGB, in which a distance of 10 is plain to see."""
    matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    xyz = [sum(m * c for m, c in zip(row, rgb, strict=True)) / w for row, w in zip(matrix, white, strict=True)]
    f = [max(v, 0) ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


@THEMES
@pytest.mark.parametrize("kind", DICHROMATS)
def test_series_can_be_told_apart_by_who_sees_two_primaries(tokens, kind):
    seen = {}
    for colour in tokens.series:
        rgb = linear(colour)
        seen[colour] = lab([sum(m * c for m, c in zip(row, rgb, strict=True)) for row in DICHROMATS[kind]])
    near = [
        (one, other, math.dist(seen[one], seen[other]))
        for one, other in itertools.combinations(tokens.series, 2)
        if math.dist(seen[one], seen[other]) < 10
    ]
    assert near == []


def test_the_measure_of_colours_knows_red_from_green_and_who_does_not():
    red, green = "#c00000", "#4d7a00"
    assert math.dist(lab(linear(red)), lab(linear(green))) > 60
    seen = [
        lab([sum(m * c for m, c in zip(row, linear(c2), strict=True)) for row in DICHROMATS["deutan"]])
        for c2 in (red, green)
    ]
    assert math.dist(*seen) < 30
