"""Where an input is said to come from: never a source that does not stand behind it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.entries import Gpu
from gpuplanner.catalog.software import Software
from gpuplanner.cli.explain_command import named_figures
from gpuplanner.engine.cost import cost_metrics
from gpuplanner.engine.derived_terms import BASES
from gpuplanner.engine.estimate import Estimate, Way
from gpuplanner.engine.estimating import explain
from gpuplanner.engine.explaining import ExplanationRow, explanation
from gpuplanner.engine.formulas.terms import TERM_UNITS
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machines import machine_of
from gpuplanner.engine.origins import finder
from gpuplanner.facts import Source
from gpuplanner.figures import Certainty, Rung
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workspace import Workspace

MODEL_ID = "meta-llama/Meta-Llama-3.1-8B"


@pytest.fixture(scope="module")
def find(shipped_catalog):
    """Two GPUs on one node, and two calibrated tables that hold the numbers 2 and 8 too."""
    machine = machine_of(MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=2, per_node=2), shipped_catalog, {})
    model = shipped_catalog.models[MODEL_ID].architecture
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id=MODEL_ID)))

    def entry(measured: str = "a measurement", **values: float) -> Efficiency:
        return Efficiency(values, 3, Source("measured", measured), Rung.SAME_GPU)

    used = [
        ("host", entry(bytes_per_weight=number("2"), cores_per_gpu=number("2"), share=number("0.8125"))),
        ("power", entry(share=number("0.5"))),
        ("science", entry("another one", share=number("0.5"), reached=HELD)),
        ("number_formats", entry(attention=BITS)),
    ]
    return finder(KINDS[plan.workload.kind].inputs(plan.workload), model, machine, Way(), used)


def number(text: str) -> float:
    """A number of its own, which no other place of this module shares, as one read from a file is."""
    return float(text)


HELD, BITS = number("0.9"), number("8")
"""The very numbers that tables give."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("members_per_node", "2"),
        ("element_bytes", "2"),
        ("cache_shards", "8"),
        ("concurrency_of_all", "8"),
        ("compute_power_share", "0.9"),
        ("power_share", "0.8125"),
        ("share", "0.5"),
    ],
)
def test_a_value_that_a_source_has_too_is_not_from_it(find, name, value):
    """Nor where it has the same name there."""
    found = find(name, number(value))
    assert found is None or found.fact is None


def test_the_very_number_that_was_looked_up_has_its_source_under_any_name(find):
    assert find("compute_power_share", HELD).certainty is Certainty.CALIBRATED


def test_what_was_chosen_is_not_taken_for_a_calibration_of_the_same_value(find):
    assert find("gpus_per_node", 2).certainty is Certainty.USER


def test_a_number_of_a_format_is_its_definition(find):
    assert find("bits_per_weight", BITS).certainty is Certainty.EXACT


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


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def explained(workspace: Workspace, preset: str, machine: str, efficiencies: Efficiencies) -> Estimate:
    plan = workspace.presets[preset].model_copy(update={"machine": MACHINES[machine]})
    return explain(plan, workspace.subject(plan.workload), workspace.machine(MACHINES[machine]), efficiencies)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_input_of_every_preset_says_where_it_comes_from(preset, machine, workspace):
    if (preset, machine) in REFUSED:
        with pytest.raises(InputError):
            explained(workspace, preset, machine, workspace.efficiencies)
        return
    rows = list(inputs(explained(workspace, preset, machine, workspace.efficiencies)))
    assert len(rows) > 20
    assert sorted({row.term for row in rows if row.origin is None}) == []


class Shifted(Efficiencies):
    """The same tables with every value that is no whole number moved by so little that each is one of a kind."""

    def __init__(self, efficiencies: Efficiencies) -> None:
        self._before = efficiencies
        self._moved: dict[tuple[str, str, int], Efficiency] = {}
        self.holds: dict[float, str] = {}

    @property
    def software(self) -> Software:
        return self._before.software

    def find(self, table: str, gpu: Gpu, variant: str = "") -> Efficiency:
        return self._shifted(table, variant, self._before.find(table, gpu, variant))

    def constants(self, table: str, variant: str = "") -> Efficiency:
        return self._shifted(table, variant, self._before.constants(table, variant))

    def _shifted(self, table: str, variant: str, found: Efficiency) -> Efficiency:
        key = table, variant, id(found.values)
        if key not in self._moved:
            moved = {
                name: value if value.is_integer() else value * (1 + 1e-7 * (len(self.holds) + place))
                for place, (name, value) in enumerate(found.values.items(), 1)
            }
            self.holds |= {value: found.source.citation for value in moved.values() if not value.is_integer()}
            self._moved[key] = replace(found, values=moved)
        return self._moved[key]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("preset", PRESETS)
def test_no_input_names_a_table_that_was_not_asked_for_it(preset, machine, workspace):
    """Where all numbers of the tables differ, the value alone tells where each is from; no other source may be said."""
    if (preset, machine) in REFUSED:
        return
    shifted = Shifted(workspace.efficiencies)
    plain, moved = (
        list(inputs(explained(workspace, preset, machine, tables))) for tables in (workspace.efficiencies, shifted)
    )
    for row in moved:
        if row.value in shifted.holds:
            assert row.source in {"", shifted.holds[row.value]}, row.term
    if [row.term for row in plain] == [row.term for row in moved]:
        for row, own in zip(plain, moved, strict=True):
            assert row.source == own.source, row.term


def test_a_default_of_a_server_is_not_calibrated(workspace):
    """vLLM's share of the memory is a flag's default, told from memory; its overheads are fitted."""
    made = explained(workspace, "chat-8b", "cloud", workspace.efficiencies)
    notes = {row.term: row.note.id for row in inputs(made) if row.note is not None}
    assert notes["memory_share"] == "explain.default_from_memory"
    assert notes["scheduler_s"] == "explain.calibrated_from_memory"


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
        origin = finder(KINDS[plan.workload.kind].inputs(plan.workload), model, machine, Way(), [])(
            "price_per_hour", price.per_hour
        )
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
    origin = finder(KINDS[plan.workload.kind].inputs(plan.workload), model, machine, Way(), [])(
        "currency_per_usd", machine.rate.per_usd
    )
    assert origin
    assert origin.note
    assert origin.certainty is Certainty.RULE
    assert origin.note.id == "explain.from_memory"
    assert cost_metrics(machine, {})[0]["usd_per_hour"].certainty is Certainty.RULE


@pytest.mark.parametrize("preset", ["animation", "flow", "live-video", "vision-yolo-inference"])
def test_no_term_of_work_without_tokens_speaks_of_tokens(preset, workspace):
    """A term has one meaning, so that its words are right wherever it stands."""
    made = explained(workspace, preset, "desk", workspace.efficiencies)
    said = Translator(Language.ENGLISH)
    # What the host stores is one sum for all kinds: the tokens of a training are 0 in it.
    figures = [figure for name, figure in named_figures(made) if not name.startswith("host.")]
    terms = {row.term for figure in figures for row in explanation(figure) if row.term}
    assert terms
    assert [term for term in terms if "token" in said.text(f"term.{term}").lower()] == []


def test_where_several_fields_stand_behind_a_term_the_field_is_named(workspace):
    made = explained(workspace, "animation", "desk", workspace.efficiencies)
    [scene] = [row for row in explanation(made.memory.needed) if row.term == "part_bytes" and row.origin]
    assert scene.note is not None
    assert Translator(Language.ENGLISH).text(scene.note) == "as entered in the plan, “Memory of the scene”"


@pytest.mark.parametrize(
    ("preset", "named"),
    [("animation", "one frame"), ("live-video", "one second of video"), ("transcribe", "recording")],
)
def test_what_has_no_steps_does_not_speak_of_one(preset, named, workspace):
    made = explained(workspace, preset, "desk", workspace.efficiencies)
    assert named in Translator(Language.ENGLISH).text(f"step.{made.step_name}")
    assert named in Translator(Language.ENGLISH).text(f"planui.step_name.{made.step_name}")
