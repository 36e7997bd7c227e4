"""LMDeploy and ExLlama as servers of their own: their flags, pools and formats, and what was never measured of them."""

from typing import Any

import pytest

from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import bare
from gpuplanner.engine.proposals import serving_changes
from gpuplanner.engine.serving_choice import ways_on
from gpuplanner.engine.serving_model import bits_by_part
from gpuplanner.figures import Rung
from gpuplanner.messages import Language, Translator
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.precision import WeightPrecision
from gpuplanner.workload.serving import Server, Serving

MODEL, A100, CARD = "meta-llama/Meta-Llama-3.1-8B", "nvidia-a100-sxm4-80gb", "nvidia-rtx-4090"


@pytest.fixture
def serve(shipped_catalog, shipped_efficiencies):
    def run(server: Server, gpu: str = A100, gpus: int = 1, **fields: Any) -> Any:
        given: dict[str, Any] = {"model": ModelChoice(catalog_id=MODEL), "server": server, "concurrency": 16}
        machine = bare(shipped_catalog.gpus[gpu], gpus)
        workload = Serving(**{**given, **fields})
        return estimate(
            Plan(workload=workload), shipped_catalog.models[MODEL].architecture, machine, shipped_efficiencies
        )

    return run


def test_the_pool_of_lmdeploy_is_a_share_of_what_the_weights_leave(serve):
    """cache_max_entry_count: 0.8 of the free memory since 0.2.1, not of the whole as before."""

    def pool(**fields: Any) -> float:
        made = serve(Server.LMDEPLOY, **fields)
        held = {p.id: p.figure.value for p in made.memory.phases[1].parts}
        others: float = sum(value for name, value in held.items() if name != "cache")
        return float(made.memory.reserved.value) - others

    usual = pool()
    assert pool(memory_utilisation=0.4) == pytest.approx(usual / 2)
    smaller = serve(Server.LMDEPLOY, weight_precision=WeightPrecision.AWQ)
    assert smaller.metrics["kv_pool_tokens"].value > serve(Server.LMDEPLOY).metrics["kv_pool_tokens"].value


def test_exllama_takes_memory_for_the_requests_that_come(serve):
    few, many = serve(Server.EXLLAMA, concurrency=2), serve(Server.EXLLAMA, concurrency=16)
    assert few.memory.reserved.value < many.memory.reserved.value < 0.6 * many.memory.usable.value
    assert serve(Server.EXLLAMA, concurrency=200).metrics["resident_sequences"].value == 32


def test_lmdeploy_splits_matrices_and_exllama_spreads_layers(shipped_catalog):
    model = shipped_catalog.models[MODEL].architecture
    machine = bare(shipped_catalog.gpus[A100], 4)

    def degrees(server: Server) -> set[tuple[Any, Any]]:
        ways = ways_on(machine, model, Serving(model=ModelChoice(catalog_id=MODEL), server=server))
        return {(way.tensor_parallel, way.pipeline_parallel) for way in ways}

    assert {pipeline for _, pipeline in degrees(Server.LMDEPLOY)} == {1}
    assert {tensor for tensor, _ in degrees(Server.EXLLAMA)} == {1}


@pytest.mark.parametrize("precision", [p for p in WeightPrecision if p.startswith("exl")])
def test_exl_formats_have_the_bits_that_their_name_says(shipped_catalog, shipped_efficiencies, precision):
    bits = bits_by_part(shipped_catalog.models[MODEL].architecture, precision, shipped_efficiencies)
    assert bits["mlp"] == bits["attention"] == float(precision.rpartition("-")[2])
    assert bits["head"] == 6
    for language in Language:
        assert Translator(language).has(f"choice.weight-precision.{precision.value}")


def test_more_bits_are_slower_for_one_request(serve):
    formats = (WeightPrecision.EXL2_2_5, WeightPrecision.EXL2_4, WeightPrecision.EXL2_6, WeightPrecision.EXL2_8)
    times = [serve(Server.EXLLAMA, CARD, concurrency=1, weight_precision=p).metrics["tpot_s"].value for p in formats]
    assert times == sorted(times)


def test_what_was_never_measured_of_a_server_is_said_and_widens_its_range(serve):
    alone, many = (serve(Server.EXLLAMA, CARD, concurrency=count, weight_precision="exl2-4.0") for count in (1, 8))
    assert "serving.measured_alone" not in {m.id for m in alone.remarks}
    assert "serving.measured_alone" in {m.id for m in many.remarks}
    assert many.metrics["tpot_s"].rung is Rung.ROOFLINE
    assert alone.metrics["tpot_s"].rung is Rung.SAME_GPU
    made, other = serve(Server.LMDEPLOY), serve(Server.SGLANG)
    assert "serving.first_token_borrowed" in {m.id for m in made.remarks}
    assert made.metrics["ttft_s"].rung is Rung.OTHER_ARCHITECTURE
    assert other.metrics["ttft_s"].rung is made.metrics["tpot_s"].rung is Rung.SAME_GPU


@pytest.mark.parametrize("name", ["lmdeploy", "exllama"])
def test_a_server_has_the_times_of_its_measured_profile(shipped_efficiencies, name):
    for table, keys in (("servers", ("step_s", "sequence_s")), ("launch", ("layer_s", "moe_layer_s"))):
        own, measured = (shipped_efficiencies.constants(table, variant) for variant in (name, f"{name} measured"))
        assert {key: own[key] for key in keys} == {key: measured[key] for key in keys}


@pytest.mark.parametrize("server", [Server.LMDEPLOY, Server.EXLLAMA])
def test_changes_that_are_tried_are_the_servers_own(serve, server, shipped_efficiencies):
    made = serve(server, CARD, concurrency=32)
    tried = {name: value for _, changed in serving_changes(made, made.plan.workload) for name, value in changed.items()}
    assert tried["kv_precision"] == "int8"
    assert "eager" not in tried
    assert tried["weight_precision"] not in shipped_efficiencies.software.not_loaded[server].formats
