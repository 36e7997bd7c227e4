"""The rows of an explanation: short where one stands below the other, whole where a person asks for one."""

from gpuplanner.engine.explaining import ExplanationRow
from gpuplanner.facts import Fact, Source
from gpuplanner.figures import Certainty, Origin
from gpuplanner.ui.plan_place.results.why_model import row_lines, row_origin
from gpuplanner.units import Unit

SHORT = "GPU guide, 2025"
LONG = f"fit to public runs: {'what it rests on, in many words, ' * 4}and more"


def row(citation: str) -> ExplanationRow:
    fact = Fact(0.5, Unit.RATIO, Source("of", citation, "2025-01-01"))
    return ExplanationRow(1, "hbm_efficiency", 0.5, Unit.RATIO, origin=Origin(Certainty.RULE, fact))


def test_a_long_source_is_named_in_the_row_and_told_whole_when_it_is_asked_for(appearance):
    for citation, beside in ((SHORT, SHORT), (LONG, "fit to public runs")):
        said = row_origin(row(citation), appearance, brief=True)
        assert said.split(" · ")[1:] == [beside, "2025-01-01"]
        assert citation in row_lines(row(citation), appearance)[-1]
