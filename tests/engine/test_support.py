"""Whether software runs on a GPU: the plan's machine is told so as the search is, and formats have their servers."""

import pytest

from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import bare, choice_of
from gpuplanner.engine.support import LEAST_CAPABILITY, NOT_LOADED, unsupported
from gpuplanner.messages import Language, Translator
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.precision import ComputePrecision, WeightPrecision
from gpuplanner.workload.serving import Server, Serving
from gpuplanner.workload.training import Training

MODEL = ModelChoice(catalog_id="meta-llama/Meta-Llama-3.1-8B")


@pytest.mark.parametrize(
    ("gpu", "workload", "expected"),
    [
        ("nvidia-p40", Serving(model=MODEL), "limits.support.capability"),
        ("nvidia-p40", Serving(model=MODEL, server=Server.LLAMA_CPP), None),
        ("amd-mi300x", Serving(model=MODEL, server=Server.TENSORRT_LLM), "limits.support.vendor"),
        ("amd-mi300x", Serving(model=MODEL), None),
        ("nvidia-v100-sxm2-32gb", Training(model=MODEL), "limits.support.capability"),
        ("nvidia-v100-sxm2-32gb", Training(model=MODEL, precision=ComputePrecision.FP16), None),
    ],
)
def test_software_on_a_gpu(gpu, workload, expected, shipped_catalog):
    said = unsupported(shipped_catalog.gpus[gpu], workload)
    assert (said.id if said else None) == expected


@pytest.mark.parametrize("server", Server)
@pytest.mark.parametrize("precision", WeightPrecision)
def test_formats_that_a_server_does_not_load(server, precision, shipped_catalog):
    workload = Serving(model=MODEL, server=server, weight_precision=precision)
    said = unsupported(shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], workload)
    if precision in NOT_LOADED.get(server, ()):
        assert said is not None
        assert said.id == "limits.support.format"
        assert all(precision.upper() in Translator(language).text(said) for language in Language)
    else:
        assert said is None


def test_which_formats_are_whose():
    assert WeightPrecision.AWQ in NOT_LOADED[Server.LLAMA_CPP]
    assert WeightPrecision.IQ4_XS not in NOT_LOADED[Server.LLAMA_CPP]
    assert WeightPrecision.Q4_K_M in NOT_LOADED[Server.TENSORRT_LLM]
    assert WeightPrecision.NVFP4 not in NOT_LOADED[Server.TENSORRT_LLM]


def test_every_kind_of_software_has_a_least_capability():
    assert set(LEAST_CAPABILITY) == {*Server, "training"}


def test_an_estimate_says_what_the_search_says(shipped_catalog, shipped_efficiencies):
    machine = bare(shipped_catalog.gpus["nvidia-p40"], 1)
    workload = Serving(model=MODEL, concurrency=1)
    plan = Plan(workload=workload, machine=choice_of(machine))
    model = shipped_catalog.models[MODEL.catalog_id].architecture
    assert estimate(plan, model, machine, shipped_efficiencies).unmet[0] == unsupported(machine.gpu, workload)
