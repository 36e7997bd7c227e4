"""What every estimate is completed with: host, power, cost; and the derivation of each of its numbers."""

from dataclasses import replace

import pytest

from gpuplanner.catalog.entries import GpuProperty, Rule
from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.estimating import estimate, explain
from gpuplanner.engine.explaining import explanation, explanation_lines
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machines import bare, machine_of, with_nodes
from gpuplanner.facts import Source
from gpuplanner.figures import Certainty, Step
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.units import Display
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import WORKLOADS, Constraints, MachineChoice, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Framework, Method, Offload, Sharding, Training
from tests.engine.any_plans import figures

MODEL_ID = "meta-llama/Meta-Llama-3.1-8B"
CHOICE = ModelChoice(catalog_id=MODEL_ID)
SERVING = Serving(model=CHOICE, concurrency=64)
TRAINING = Training(model=CHOICE, framework=Framework.FSDP, method=Method.FULL, tokens=1e9, global_batch=64)
PLANS = {"serving": Plan(workload=SERVING), "training": Plan(workload=TRAINING)}


@pytest.fixture(scope="module")
def model(shipped_catalog):
    return shipped_catalog.models[MODEL_ID].architecture


@pytest.fixture(scope="module")
def machine(shipped_catalog):
    return machine_of(MachineChoice(instance_id="aws/p5.48xlarge"), shipped_catalog, {})


def test_every_workload_kind_has_an_engine():
    assert set(KINDS) == {kind.model_fields["kind"].default for kind in WORKLOADS}


@pytest.mark.parametrize("kind", PLANS)
def test_an_estimate_is_complete(kind, model, machine, shipped_efficiencies):
    made = estimate(PLANS[kind], model, machine, shipped_efficiencies)
    assert made.fit is not Fit.DOES_NOT_FIT
    assert {"usd_per_hour", "usd_per_month", "usd_per_mtoken", "power_w", "energy_j_per_token"} <= made.metrics.keys()
    assert {need.id for need in made.host} >= {"vcpus", "ram", "storage", "storage_rate"}
    assert made.unknown == ()
    for name, figure in figures(made):
        assert figure.low <= figure.value <= figure.high, name


@pytest.mark.parametrize("kind", PLANS)
def test_costs_follow_from_price_and_rate(kind, model, machine, shipped_efficiencies):
    metrics = estimate(PLANS[kind], model, with_nodes(machine, 1), shipped_efficiencies).metrics
    rate = metrics["output_tokens_per_s" if kind == "serving" else "tokens_per_s"]
    assert metrics["usd_per_hour"].value == machine.price.per_hour
    assert metrics["usd_per_hour"].certainty is Certainty.EXACT
    assert metrics["usd_per_month"].value == pytest.approx(730 * machine.price.per_hour)
    assert metrics["usd_per_mtoken"].value == pytest.approx(machine.price.per_hour / 3600 / rate.value * 1e6)
    assert metrics["usd_per_mtoken"].low == pytest.approx(machine.price.per_hour / 3600 / rate.high * 1e6)
    if kind == "training":
        hours = metrics["job_s"].value / 3600
        assert metrics["job_usd"].value == pytest.approx(hours * machine.price.per_hour)
        assert metrics["energy_j"].value == pytest.approx(metrics["power_w"].value * metrics["job_s"].value)


@pytest.mark.parametrize("kind", PLANS)
def test_a_price_that_is_not_known_is_named_and_nothing_costs_0(kind, model, shipped_catalog, shipped_efficiencies):
    made = estimate(PLANS[kind], model, bare(shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], 8), shipped_efficiencies)
    assert not [name for name in made.metrics if "usd" in name]
    assert [m.id for m in made.unknown] == ["machines.bought_without_price"]


def test_without_a_rate_the_price_in_another_currency_is_not_converted(model, shipped_catalog, shipped_efficiencies):
    offer = next(i for i in shipped_catalog.instances.values() if i.prices and i.prices[0].currency == "CNY")
    machine = machine_of(MachineChoice(instance_id=offer.id), shipped_catalog, {})
    made = estimate(PLANS["serving"], model, machine, shipped_efficiencies)
    assert "machines.rate_unknown" in [m.id for m in made.unknown]
    assert "usd_per_hour" not in made.metrics


@pytest.mark.parametrize("kind", PLANS)
def test_power_stays_below_the_limit_and_is_a_rule_of_thumb(kind, model, machine, shipped_efficiencies):
    power = estimate(PLANS[kind], model, machine, shipped_efficiencies).metrics["power_w"]
    limit = machine.gpus * machine.gpu.value(GpuProperty.POWER_W)
    assert 0.3 * limit < power.value < limit
    assert power.high <= limit
    assert power.certainty is Certainty.RULE


def test_training_draws_more_than_decoding(model, machine, shipped_efficiencies):
    serving, training = (
        estimate(PLANS[kind], model, machine, shipped_efficiencies).metrics["power_w"].value for kind in PLANS
    )
    assert training > serving


def test_host_needs_are_rules_of_thumb_beside_what_is_offered(model, machine, shipped_efficiencies):
    made = estimate(PLANS["serving"], model, machine, shipped_efficiencies)
    needs = {need.id: need for need in made.host}
    assert needs["vcpus"].offered == 192
    assert needs["vcpus"].need.value >= 2 * (2 + 8)
    assert needs["storage"].need.value > 16e9
    assert all(need.need.certainty is Certainty.RULE for need in made.host)
    assert "network" not in needs


def test_several_nodes_need_a_network(model, machine, shipped_efficiencies):
    made = estimate(PLANS["training"], model, with_nodes(machine, 4), shipped_efficiencies)
    network = next(need for need in made.host if need.id == "network")
    assert network.offered == machine.host.network_bytes_per_s


def test_offload_asks_for_host_memory(model, machine, shipped_efficiencies):
    def memory(offload):
        # Split in one way: who loads what is another need.
        workload = TRAINING.model_copy(update={"offload": offload, "sharding": Sharding.FSDP})
        made = estimate(Plan(workload=workload), model, machine, shipped_efficiencies)
        return next(need.need.value for need in made.host if need.id == "ram")

    parameters = 8.03e9
    assert memory(Offload.OPTIMIZER) - memory(Offload.NONE) == pytest.approx(16 * 1.5 * parameters, rel=0.01)
    assert memory(Offload.ALL) - memory(Offload.NONE) == pytest.approx(18 * 1.5 * parameters, rel=0.01)


def test_a_host_that_is_too_small_is_said_to_be(model, machine, shipped_efficiencies):
    small = replace(machine, host=replace(machine.host, vcpus=4.0, ram_bytes=16e9))
    made = estimate(PLANS["serving"], model, small, shipped_efficiencies)
    assert {"host.short.vcpus", "host.short.ram"} <= {m.id for m in made.remarks}


def test_training_says_how_often_to_write_a_checkpoint(model, machine, shipped_efficiencies):
    remarks = {m.id for m in estimate(PLANS["training"], model, machine, shipped_efficiencies).remarks}
    assert "host.checkpoint_interval" in remarks
    assert "host.checkpoint_interval" not in {
        m.id for m in estimate(PLANS["serving"], model, machine, shipped_efficiencies).remarks
    }


def test_rules_of_thumb_stand_beside_the_needs_they_speak_about(model, machine, shipped_efficiencies):
    source = Source("guide", "A selection guide", "2025")
    rules = (
        Rule("two-per-gb", "rule", "", "", "", "", "", ("vcpus",), source, ("per GB of GPU memory",), 2.0),
        Rule("sixteen-per-gpu", "rule", "", "", "", "", "", ("vcpus",), source, ("per GPU",), 16.0),
        Rule("no-number", "rule", "", "", "", "", "", ("vcpus",), source),
    )
    made = estimate(PLANS["serving"], model, machine, shipped_efficiencies, rules)
    needs = {need.id: need for need in made.host}
    assert needs["vcpus"].rules == (("two-per-gb", 2.0 * 80 * 8), ("sixteen-per-gpu", 128.0))
    assert needs["ram"].rules == ()


def test_a_missing_fact_is_named_and_never_replaced(model, machine, shipped_efficiencies):
    facts = {p: k for p, k in machine.gpu.properties.items() if p is not GpuProperty.HBM_BYTES_PER_S}
    blind = replace(machine, gpu=replace(machine.gpu, properties=facts))
    for plan in PLANS.values():
        with pytest.raises(InputError) as raised:
            estimate(plan, model, blind, shipped_efficiencies)
        text = Translator(Language.ENGLISH).text(raised.value.message)
        assert "memory bandwidth" in text
        assert machine.gpu.name in text


@pytest.mark.parametrize("kind", PLANS)
def test_a_budget_that_is_exceeded_is_unmet(kind, model, machine, shipped_efficiencies):
    tight = Constraints(budget_usd_per_month=1000.0, budget_usd_per_job=1.0)
    made = estimate(PLANS[kind].model_copy(update={"constraints": tight}), model, machine, shipped_efficiencies)
    expected = {"limits.over_budget.usd_per_month"} | ({"limits.over_budget.job_usd"} if kind == "training" else set())
    assert {m.id for m in made.unmet} == expected


@pytest.mark.parametrize("kind", PLANS)
def test_explaining_changes_no_number(kind, model, machine, shipped_efficiencies):
    plain = estimate(PLANS[kind], model, machine, shipped_efficiencies)
    explained = explain(PLANS[kind], model, machine, shipped_efficiencies)
    assert [(n, f.value, f.low, f.high) for n, f in figures(plain)] == [
        (n, f.value, f.low, f.high) for n, f in figures(explained)
    ]


@pytest.mark.parametrize("kind", PLANS)
def test_derivations_end_in_sources_inputs_and_calibrations(kind, model, machine, shipped_efficiencies):
    made = explain(PLANS[kind], model, machine, shipped_efficiencies)
    explained = [name for name, figure in figures(made) if figure.derivation is not None]
    assert len(explained) >= 0.8 * len(list(figures(made)))
    headline = made.metrics["usd_per_mtoken"]
    rows = explanation(headline)
    assert rows[0].value is headline.value
    inputs = {row.term: row for row in rows if row.formula is None}
    assert inputs["price_per_hour"].date == machine.price.date
    assert inputs["hbm_bytes_per_s"].source == machine.gpu.properties[GpuProperty.HBM_BYTES_PER_S].fact.source.citation
    kinds = {row.certainty for row in inputs.values()}
    assert {Certainty.EXACT, Certainty.CALIBRATED, Certainty.USER} <= kinds


@pytest.mark.parametrize("kind", PLANS)
def test_every_step_of_a_derivation_gives_what_it_says(kind, model, machine, shipped_efficiencies):
    """No step holds a value that its formula does not have, and none stands below itself."""

    def check(step: Step, above: tuple[int, ...]) -> None:
        assert id(step) not in above
        for argument in step.arguments:
            if argument.step is not None:
                assert argument.step.value is argument.value
                check(argument.step, (*above, id(step)))

    for _, figure in figures(explain(PLANS[kind], model, machine, shipped_efficiencies)):
        if figure.derivation is not None:
            assert figure.derivation.value == figure.value
            check(figure.derivation, ())


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("kind", PLANS)
def test_the_tree_of_a_figure_reads_as_text(kind, language, model, machine, shipped_efficiencies):
    made = explain(PLANS[kind], model, machine, shipped_efficiencies)
    translator = Translator(language)
    for name in ("usd_per_mtoken", "power_w"):
        lines = explanation_lines(made.metrics[name], translator, Display())
        assert not lines[0].startswith(" ")
        assert all(line.startswith("  ") for line in lines[1:])
        assert not [line for line in lines if "formula." in line or "term." in line]
        assert len(lines) == len(explanation(made.metrics[name]))


def test_what_is_used_twice_is_opened_once(model, machine, shipped_efficiencies):
    rows = explanation(explain(PLANS["serving"], model, machine, shipped_efficiencies).metrics["usd_per_mtoken"])
    opened = [(row.formula.id, row.value) for row in rows if row.formula and not row.repeated]
    assert any(row.repeated for row in rows)
    assert len(rows) < 400
    assert len(opened) < 120


@pytest.mark.parametrize("deepest", [2, 3, 4])
def test_what_is_said_to_stand_above_is_shown_above(deepest, model, machine, shipped_efficiencies):
    translator = Translator(Language.ENGLISH)
    made = explain(PLANS["serving"], model, machine, shipped_efficiencies)
    deeper = 0
    for _, figure in figures(made):
        lines = explanation_lines(figure, translator, Display(), deepest)
        for index, line in enumerate(lines):
            name, found, _ = line.strip().partition(" (see above)")
            if found:
                value = name.partition(" = ")[2]
                opened = [n for n in range(index) if f" = {value} = " in lines[n]]
                assert any(_depth(lines[n + 1]) == _depth(lines[n]) + 1 for n in opened), line
            deeper += translator.text("explain.above_deeper") in line
    assert deeper
    assert not any(
        translator.text("explain.above_deeper") in line
        for _, figure in figures(made)
        for line in explanation_lines(figure, translator, Display())
    )


def _depth(line: str) -> int:
    return (len(line) - len(line.lstrip())) // 2
