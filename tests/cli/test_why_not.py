"""`recommend --why-not`: a count for each constraint with the nearest machines, or the reason of one machine."""

import json
import re

import pytest

from gpuplanner.cli.main import main
from gpuplanner.cli.why_not import NEAREST
from gpuplanner.engine.search.result import Broken
from gpuplanner.messages import Language, Translator


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["recommend", "chat-70b", *arguments])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("language", list(Language))
def test_every_constraint_has_a_heading(language):
    assert all(Translator(language).has(f"cli.broken.{broken.value}") for broken in Broken)


def test_the_groups_count_every_rejected_machine_and_name_the_nearest(capsys):
    rows = json.loads(answer(capsys, "--json")[1])["rejections"]
    _, out = answer(capsys, "--why-not")
    counts = [int(found) for found in re.findall(r"^\S.* · (\d+)$", out, re.MULTILINE)]
    assert sum(counts) == len(rows) > 100
    assert len(counts) == len({row["broken"] for row in rows})
    named = re.findall(r"^  (?!and \d)\S.*$", out.partition("\n\n")[2], re.MULTILINE)
    assert len(named) == sum(min(NEAREST, count) for count in counts)
    for broken in {row["broken"] for row in rows}:
        overs = [row["over"] for row in rows if row["broken"] == broken and row["over"] is not None]
        assert overs == sorted(overs)
    assert all(row["reason"]["text"] in out for row in rows[:NEAREST])
    assert "✓" not in out, "the ranking is not asked for"


def test_json_keeps_all_rows(capsys):
    plain, asked = (json.loads(answer(capsys, *more, "--json")[1]) for more in ([], ["--why-not"]))
    assert plain["rejections"] == asked["rejections"]


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("g7e.2xlarge", 1, "AWS g7e.2xlarge  Time per output token"),
        ("p5.48xlarge", 0, "AWS p5.48xlarge carries the plan; it is number"),
        ("RTX 3090", 1, "RTX 3090 is in the catalog, but no offer"),
        ("L40S", 0, "L40S"),
    ],
)
def test_one_machine_is_told_alone(name, code, says, capsys):
    given, out = answer(capsys, "--why-not", name)
    assert given == code
    assert says in out
    assert "ways of running" not in out


def test_of_one_machine_json_has_only_its_rows(capsys):
    _, out = answer(capsys, "--why-not", "g7e.2xlarge", "--json")
    assert [row["instance"] for row in json.loads(out)["rejections"]] == ["aws/g7e.2xlarge"]


@pytest.mark.parametrize(("name", "says"), [("H2000x", "H200"), ("Qwen2.5-7B", "model"), ("", "name")])
def test_what_is_no_machine_is_one_sentence(name, says, capsys):
    assert main(["recommend", "chat-70b", "--why-not", name]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
