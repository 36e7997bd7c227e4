"""Which rows the fit of serving takes, and what its numbers lean on where rows are few."""

import pytest

from gpuplanner.catalog.efficiency import read_efficiencies
from gpuplanner.engine.validation.serving import FIRST
from tests.accuracy.fit_serving import CATALOGS, Fit, Tables, borrowed, prior, pull, read_cases

HOPPER = ("hbm", "", "architecture Hopper", "share")
BLACKWELL = ("hbm", "", "chip GB100", "share")


@pytest.fixture(scope="module")
def cases():
    return read_cases(Tables(read_efficiencies(CATALOGS / "efficiency")))


def test_software_that_borrows_a_profile_tells_nothing_of_it(cases):
    assert {case.row.text("engine") for case in cases} >= {"exllamav2", "AutoAWQ", "lmdeploy TurboMind"}
    assert not [case.row.id for case in cases if case.row.text("engine") in {"mlc-llm", "llm-awq"}]


def test_of_models_that_may_have_drafted_only_first_tokens_are_taken(cases):
    drafting = [case.metric for case in cases if "deepseek" in case.row.text("model")]
    assert set(drafting) == {FIRST}
    assert len(drafting) > 200


def test_every_row_depends_on_what_was_looked_up_for_it(cases):
    """Whether the same was looked up for a row before it or not."""
    tables = ("hbm", "gemm", "launch")
    assert [case.row.id for case in cases if not {key[0] for key in case.keys} >= set(tables)] == []


def test_the_memory_of_a_chip_that_was_streamed_is_known_better():
    assert prior(HOPPER) > prior(BLACKWELL)
    assert pull(HOPPER) < pull(BLACKWELL)
    assert prior(("hbm", "llama.cpp", "chip GA100", "share")) == prior(BLACKWELL)


def test_what_no_row_tells_stays_where_it_began(cases):
    """Of two rows of one run only the numbers that they depend on move."""
    own = [case for case in cases if case.row.id in {"exllamav2-0001", "exllamav2-0002"}]
    values = Fit(own).run(4)
    assert {key[1] for key in values} >= {"exllama measured", "weight only"}
    unmoved = ("launch", "exllama measured", "", "moe_layer_s")
    assert values[unmoved] == pytest.approx(prior(unmoved), rel=1e-3)
    assert max(abs(off) for off in Fit(own).off(values)) < 0.15
    elsewhere = ("hbm", "", "chip GA102", "converted_share")
    assert borrowed(elsewhere, {("hbm", "", "chip X", "converted_share"): 0.7}) == pytest.approx(0.7)
