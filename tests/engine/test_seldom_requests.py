"""Requests that come seldom: whatever the server, nobody waits for others, and one alone is what each of them is."""

import math
from itertools import pairwise

import pytest

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.formulas import serving_requests, serving_time, serving_waiting
from gpuplanner.engine.machines import machine_of
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.serving import Server, Serving

RATES = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]
MODEL = "meta-llama/Meta-Llama-3.1-8B"
TIMES = ("ttft_s", "tpot_s", "request_s")


def served(
    catalog: Catalog, efficiencies: Efficiencies, server: Server, gpus: int, answer: int, rate: float | None
) -> Estimate:
    workload = Serving(
        model=ModelChoice(catalog_id=MODEL),
        server=server,
        output_tokens=answer,
        tensor_parallel=1,
        pipeline_parallel=1,
        concurrency=None if rate else 1,
        request_rate=rate,
    )
    machine = MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=gpus, per_node=min(gpus, 8))
    model = catalog.models[MODEL].architecture
    assert model is not None
    made = machine_of(machine, catalog, catalog.currencies)
    return estimate(Plan(workload=workload, machine=machine), model, made, efficiencies)


def times(made: Estimate) -> dict[str, float]:
    return {name: made.metrics[name].value for name in TIMES if name in made.metrics}


@pytest.mark.parametrize("gpus", [1, 8, 1024])
@pytest.mark.parametrize("server", list(Server))
def test_times_of_seldom_requests_are_those_of_one_alone(
    server: Server, gpus: int, shipped_catalog: Catalog, shipped_efficiencies: Efficiencies
) -> None:
    for answer in (1, 2, 64):
        alone = times(served(shipped_catalog, shipped_efficiencies, server, gpus, answer, None))
        found = [times(served(shipped_catalog, shipped_efficiencies, server, gpus, answer, rate)) for rate in RATES]
        assert "ttft_s" in alone
        assert found[0] == pytest.approx(alone, rel=1e-3)
        for each in found:
            assert all(math.isfinite(value) and value >= 0 for value in each.values())
        for before, after in pairwise(each["ttft_s"] for each in found if "ttft_s" in each):
            assert after >= before * (1 - 1e-6)


@pytest.mark.parametrize("sequences", [0.0, 1e-9, 0.5, 0.999, 1.0])
def test_below_one_request_at_work_there_are_no_others(sequences: float) -> None:
    ahead = serving_waiting.prompts_ahead(0.05, sequences, 1.0, 1.0, 5.0, 1.0, 0.02, 1.0)
    assert ahead == pytest.approx(0.0)
    assert serving_requests.token_seconds(0.02, ahead, sequences, 5.0, 1.0, 0.05, 1.0) == 0.02
    assert serving_requests.first_token_seconds(0.5, 0.02, 0.01, ahead, sequences, 5.0, 1.0) == pytest.approx(0.51)
    assert serving_time.prefill_rows(8192.0, 100.0, sequences, 1.0, 1.0) == 100.0
    assert serving_requests.waiting_seconds(sequences, 1.0, 2.0) == 0.0


@pytest.mark.parametrize(("gpu", "gpus", "rate"), [("nvidia-h200-sxm-141gb", 2, 16.0), ("nvidia-l40s", 8, 8.0)])
@pytest.mark.parametrize("server", [Server.VLLM, Server.SGLANG, Server.TENSORRT_LLM])
def test_prompts_that_fill_the_time_are_told_and_no_time_is_below_none(
    server: Server, gpu: str, gpus: int, rate: float, shipped_catalog: Catalog, shipped_efficiencies: Efficiencies
) -> None:
    """Answers of one token are all prompts: few requests at work share no pass, many do."""
    choice = ModelChoice(catalog_id=MODEL)
    asked = Serving(
        model=choice, server=server, input_tokens=3000, output_tokens=1, concurrency=None, request_rate=rate
    )
    machine = machine_of(MachineChoice(gpu_id=gpu, gpus=gpus), shipped_catalog, shipped_catalog.currencies)
    model = shipped_catalog.models[MODEL].architecture
    for tensor in (None, 1, 2):
        workload = asked.model_copy(update={"tensor_parallel": tensor})
        made = estimate(Plan(workload=workload), model, machine, shipped_efficiencies)
        assert all(found > 0 for found in times(made).values())
        assert times(made) or "serving.saturated" in {message.id for message in made.unmet}
