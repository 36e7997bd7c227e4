"""Own recordings in the formats of the tools, with what each says, checked by hand against its text."""

import pytest

from gpuplanner.messages import shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.record import LONGEST_QUOTE, Record
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.output import Output
from tests.probe.said import DATA, expected, said

EXPECTED = {file: what for path in sorted(DATA.glob("*.yaml")) for file, what in expected(path.stem).items()}


@pytest.mark.parametrize("file", EXPECTED)
def test_an_own_recording_says_what_was_checked_by_hand(file: str) -> None:
    assert said(inspect(Output.of((DATA / file).read_bytes(), file))) == EXPECTED[file]


def test_each_own_recording_is_expected() -> None:
    assert {f"{path.parent.name}/{path.name}" for path in DATA.glob("*/*")} == set(EXPECTED)


@pytest.mark.parametrize("file", EXPECTED)
def test_each_value_names_the_line_it_stands_in(file: str) -> None:
    output = Output.of((DATA / file).read_bytes(), file)
    evidence = inspect(output).evidence
    sections = [getattr(evidence, section) for section in Evidence.model_fields]
    records = [each for section in sections for each in (section if isinstance(section, tuple) else (section,))]
    for record in (each for each in records if isinstance(each, Record)):
        for seen in (*record.seen.values(), *(lack.seen for lack in record.absent.values())):
            assert seen.source == file
            assert seen.text == shortened(output.bare.lines[seen.line - 1].text.strip(), LONGEST_QUOTE)
