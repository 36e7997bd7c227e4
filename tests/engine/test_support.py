"""Whether software runs on a GPU: the plan's machine is told so as the search is, and formats have their servers."""

from dataclasses import replace
from typing import Any

import pytest

from gpuplanner.catalog.software import Software
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machines import bare, choice_of
from gpuplanner.engine.support import TRAINING, unsupported
from gpuplanner.messages import Language, Translator
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import WORKLOADS, Plan
from gpuplanner.workload.precision import ComputePrecision, WeightPrecision
from gpuplanner.workload.serving import Server, Serving
from gpuplanner.workload.training import Training

MODEL = ModelChoice(catalog_id="meta-llama/Meta-Llama-3.1-8B")


@pytest.fixture
def known(shipped_efficiencies):
    return shipped_efficiencies.software


def needs(workload):
    return KINDS[workload.kind].needs(workload)


@pytest.mark.parametrize(
    ("gpu", "workload", "expected"),
    [
        ("nvidia-p40", Serving(model=MODEL), "limits.support.capability"),
        ("nvidia-p40", Serving(model=MODEL, server=Server.LLAMA_CPP), None),
        ("amd-mi300x", Serving(model=MODEL, server=Server.TENSORRT_LLM), "limits.support.no_vendor"),
        ("amd-mi300x", Serving(model=MODEL), None),
        ("nvidia-v100-sxm2-32gb", Training(model=MODEL), "limits.support.capability"),
        ("nvidia-v100-sxm2-32gb", Training(model=MODEL, precision=ComputePrecision.FP16), None),
    ],
)
def test_software_on_a_gpu(gpu, workload, expected, shipped_catalog, known):
    said = unsupported(shipped_catalog.gpus[gpu], needs(workload), known)
    assert (said.id if said else None) == expected


@pytest.mark.parametrize("server", Server)
@pytest.mark.parametrize("precision", WeightPrecision)
def test_formats_that_a_server_does_not_load(server, precision, shipped_catalog, known):
    workload = Serving(model=MODEL, server=server, weight_precision=precision)
    said = unsupported(shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], needs(workload), known)
    if server in known.not_loaded and precision in known.not_loaded[server].formats:
        assert said is not None
        assert said.id == "limits.support.format"
        assert all(precision.upper() in Translator(language).text(said) for language in Language)
    else:
        assert said is None


@pytest.mark.parametrize("language", Language)
def test_a_refusal_says_who_says_so_and_since_when(language, shipped_catalog, known):
    refusal = unsupported(shipped_catalog.gpus["nvidia-p40"], needs(Serving(model=MODEL)), known)
    assert refusal is not None
    said = Translator(language).text(refusal)
    source = known.runs[Server.VLLM, "NVIDIA"].source
    assert f"{source.citation}" in said
    assert source.date in said
    assert " 7.0" in said
    assert ("memory" in said or "记忆" in said) == source.from_memory


def test_only_kinds_whose_software_is_known_need_some(shipped_catalog, known):
    gpu = replace(shipped_catalog.gpus["nvidia-p40"], compute_capability="3.7")
    usual: dict[str, Any] = {"model": MODEL}
    made = [w.model_construct(**{n: v for n, v in usual.items() if n in w.model_fields}) for w in WORKLOADS]
    refused = {w.kind for w in made if unsupported(gpu, needs(w), known)}
    assert refused == {"serving", "training", "vision"}


def test_a_capability_that_nobody_states_is_said_to_be_unknown(shipped_catalog, known):
    gpu = replace(shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], compute_capability="")
    said = unsupported(gpu, needs(Serving(model=MODEL)), known)
    assert said is not None
    assert said.id == "limits.support.unknown_capability"


def test_which_formats_are_whose(known):
    assert WeightPrecision.AWQ in known.not_loaded[Server.LLAMA_CPP].formats
    assert WeightPrecision.IQ4_XS not in known.not_loaded[Server.LLAMA_CPP].formats
    assert WeightPrecision.Q4_K_M in known.not_loaded[Server.TENSORRT_LLM].formats
    assert WeightPrecision.NVFP4 not in known.not_loaded[Server.TENSORRT_LLM].formats
    every = {name for known_of in known.not_loaded.values() for name in known_of.formats}
    assert every <= set(WeightPrecision)


def test_every_kind_of_software_is_known_and_names_its_sources(known):
    assert known.names() == {*Server, TRAINING}
    assert {(name, "NVIDIA") for name in known.names()} <= known.runs.keys()
    assert set(known.precisions) <= set(ComputePrecision)
    for said in (*known.runs.values(), *known.precisions.values(), *known.not_loaded.values()):
        assert said.source.citation
        assert said.source.date or said.source.accessed


def test_what_no_document_at_hand_says_is_marked(known):
    documented = {name for name, runs in known.runs.items() if not runs.source.from_memory}
    assert documented == {("transformers", "NVIDIA")}


def test_pytorch_runs_from_the_least_capability_of_its_published_builds(known, shipped_catalog):
    table = shipped_catalog.compatibility["pytorch-architectures"]
    column = table.columns.index("compute_capabilities")
    least = min(float(word.removesuffix("+PTX")) for row in table.rows for word in row[column].split())
    assert known.runs["transformers", "NVIDIA"].least_capability == least


def test_the_architectures_named_are_those_of_the_catalog(known, shipped_catalog):
    named = {(vendor, name) for (_, vendor), runs in known.runs.items() for name in runs.architectures}
    assert named <= {(gpu.vendor, gpu.architecture) for gpu in shipped_catalog.gpus.values()}


def test_the_same_tables_are_found_in_the_catalog(shipped_catalog):
    for name in ("software", "training-precisions", "weight-formats"):
        assert all(row[-1] for row in shipped_catalog.compatibility[name].rows)


def test_of_software_that_nothing_is_known_of_nothing_is_said(shipped_catalog):
    assert unsupported(shipped_catalog.gpus["nvidia-p40"], needs(Serving(model=MODEL)), Software()) is None


def test_an_estimate_says_what_the_search_says(shipped_catalog, shipped_efficiencies):
    machine = bare(shipped_catalog.gpus["nvidia-p40"], 1)
    workload = Serving(model=MODEL, concurrency=1)
    plan = Plan(workload=workload, machine=choice_of(machine))
    model = shipped_catalog.models[MODEL.catalog_id].architecture
    assert estimate(plan, model, machine, shipped_efficiencies).unmet[0] == unsupported(
        machine.gpu, needs(workload), shipped_efficiencies.software
    )
