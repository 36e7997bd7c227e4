"""Where an input is said to come from: never a source that does not stand behind it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gpuplanner.catalog.efficiency import Efficiency
from gpuplanner.cli.explain_command import named_figures
from gpuplanner.engine.cost import cost_metrics
from gpuplanner.engine.derived_terms import BASES
from gpuplanner.engine.estimate import Estimate, Way
from gpuplanner.engine.estimating import explain
from gpuplanner.engine.explaining import ExplanationRow, explanation
from gpuplanner.engine.formulas.terms import TERM_UNITS
from gpuplanner.engine.machines import machine_of
from gpuplanner.engine.origins import finder
from gpuplanner.facts import Source
from gpuplanner.figures import Certainty, Rung
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.store.plan_files import read_plan
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.serving import Serving

MODEL_ID = "meta-llama/Meta-Llama-3.1-8B"


@pytest.fixture(scope="module")
def find(shipped_catalog):
    """Two GPUs on one node, and two calibrated tables that hold the numbers 2 and 8 too."""
    machine = machine_of(MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=2, per_node=2), shipped_catalog, {})
    model = shipped_catalog.models[MODEL_ID].architecture
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id=MODEL_ID)))

    def entry(**values: float) -> Efficiency:
        return Efficiency(values, 3, Source("measured", "a measurement"), Rung.SAME_GPU)

    used = [
        ("host", entry(bytes_per_weight=2.0, cores_per_gpu=2.0, batched_tokens=512.0, share=0.8125)),
        ("number_formats", entry(attention=8.0)),
    ]
    return finder(plan, model, machine, Way(), used)


@pytest.mark.parametrize(
    ("name", "value"),
    [("members_per_node", 2.0), ("element_bytes", 2.0), ("cache_shards", 8.0), ("concurrency_of_all", 8.0)],
)
def test_sharing_a_value_and_a_common_word_is_no_source(find, name, value):
    found = find(name, value)
    assert found is None or found.fact is None


def test_what_was_chosen_is_not_taken_for_a_calibration_of_the_same_value(find):
    assert find("gpus_per_node", 2).certainty is Certainty.USER


@pytest.mark.parametrize(("name", "value"), [("bytes_per_weight", 2.0), ("tokens", 512.0), ("reached", 0.8125)])
def test_a_calibrated_number_is_known_by_name_or_by_a_value_of_its_own(find, name, value):
    assert find(name, value).certainty is Certainty.CALIBRATED


def test_the_bits_of_a_format_have_its_definition(find):
    assert find("bits_per_weight", 8.0).certainty is Certainty.EXACT


PRESETS = sorted(path.stem for path in (shipped("resources") / "presets").glob("*.gpuplan"))
REFUSED = {("live-video", "cloud")}
"""An H100 has no video encoder."""
MACHINES = {
    "cloud": MachineChoice(instance_id="aws/p5.48xlarge"),
    "desk": MachineChoice(gpu_id="nvidia-rtx-4090", gpus=2, per_node=2),
}


def inputs(made: Estimate) -> Iterator[ExplanationRow]:
    """The numbers that no formula gave; 0 and 1 switch something off and need no source."""
    for _, figure in named_figures(made):
        for row in explanation(figure):
            if row.formula is None and isinstance(row.value, int | float) and row.value not in {0, 1}:
                yield row


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_input_of_every_preset_says_where_it_comes_from(preset, machine, shipped_catalog, shipped_efficiencies):
    plan = read_plan(shipped("resources") / "presets" / f"{preset}.gpuplan")
    choice = getattr(plan.workload, "model", None)
    model = shipped_catalog.models[choice.catalog_id].architecture if choice else None
    rented = machine_of(MACHINES[machine], shipped_catalog, {})
    if (preset, machine) in REFUSED:
        with pytest.raises(InputError):
            explain(plan, model, rented, shipped_efficiencies)
        return
    rows = list(inputs(explain(plan, model, rented, shipped_efficiencies)))
    assert len(rows) > 20
    assert sorted({row.term for row in rows if row.origin is None}) == []


def test_each_derived_term_is_one_of_the_vocabulary_and_its_note_has_a_text():
    assert BASES.keys() - TERM_UNITS.keys() == set()
    for language in Language:
        assert [b.note for b in BASES.values() if not Translator(language).has(b.note)] == []


def test_a_price_or_a_rate_from_memory_is_not_exact(shipped_catalog):
    model = shipped_catalog.models[MODEL_ID].architecture
    rented = machine_of(MACHINES["cloud"], shipped_catalog, {})
    assert rented.price
    remembered = replace(rented.price, source=replace(rented.price.source, from_memory=True))
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id=MODEL_ID)))
    for price, certainty in ((rented.price, Certainty.EXACT), (remembered, Certainty.RULE)):
        machine = replace(rented, price=price)
        assert cost_metrics(machine, {})[0]["usd_per_month"].certainty is certainty
        origin = finder(plan, model, machine, Way(), [])("price_per_hour", price.per_hour)
        assert origin
        assert origin.note
        assert origin.certainty is certainty
        assert (origin.note.id == "explain.from_memory") is (certainty is Certainty.RULE)


def test_dollars_at_a_rate_from_memory_are_not_exact(shipped_catalog):
    offer = next(i for i in shipped_catalog.instances.values() if i.prices and i.prices[0].currency == "CNY")
    machine = machine_of(MachineChoice(instance_id=offer.id), shipped_catalog, shipped_catalog.currencies)
    assert machine.rate
    assert machine.rate.source.from_memory
    model = shipped_catalog.models[MODEL_ID].architecture
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id=MODEL_ID)))
    origin = finder(plan, model, machine, Way(), [])("currency_per_usd", machine.rate.per_usd)
    assert origin
    assert origin.note
    assert origin.certainty is Certainty.RULE
    assert origin.note.id == "explain.from_memory"
    assert cost_metrics(machine, {})[0]["usd_per_hour"].certainty is Certainty.RULE
