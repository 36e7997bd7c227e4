"""Steps that wait for data: never by a guess, always by what is stated, and as far as nothing hides it."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuplanner.catalog.overlays import overlay_files
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.changes import advised
from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.engine.estimating import estimate, explain
from gpuplanner.engine.feed import LIMITS
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machine import Host
from gpuplanner.engine.machines import bare, machine_of
from gpuplanner.engine.search.searching import search
from gpuplanner.figures import Certainty, Rung, Step
from gpuplanner.paths import shipped
from gpuplanner.units import GB
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Constraints, MachineChoice, Plan
from gpuplanner.workload.reads_data import Storage
from tests.engine.any_plans import check_figures, check_way

GPU = "nvidia-h100-sxm5-80gb"
LLAMA = "meta-llama/Meta-Llama-3.1-8B"
USUAL: Mapping[str, dict[str, Any]] = {
    "training": {"model": LLAMA, "tensor_parallel": 1, "pipeline_parallel": 1, "sharding": "fsdp", "micro_batch": 1},
    "vision": {"model": "torchvision/resnet50", "job": "training", "batch": 256, "runtime": "compiled"},
    "diffusion-training": {"model": "stable-diffusion-xl-base-1.0 UNet", "micro_batch": 4},
    "speech": {"model": "openai/whisper-large-v3", "engine": "faster-whisper"},
    "by-hand": {"read_bytes": 1e6, "at_once": 8},
}
"""A plan of each kind that reads data."""
RATES = {k: KINDS[k].headline for k in USUAL}
PREPARED: Mapping[str, dict[str, Any]] = {
    "training": {"data": "text", "global_batch": 512},
    "vision": {},
    "diffusion-training": {},
}
"""Those whose data the CPU prepares."""
SLOW, FAST = 1e4, 1e14

Estimated = Callable[..., Estimate]


@pytest.fixture(scope="module")
def estimated(shipped_catalog, shipped_efficiencies) -> Estimated:
    def made(kind: str, nodes: int = 1, vcpus: float | None = None, how: Any = estimate, **wanted: Any) -> Estimate:
        host = Host(vcpus=vcpus, network_bytes_per_s=400 * GB)
        machine = replace(bare(shipped_catalog.gpus[GPU], 8, nodes), host=host)
        fields = USUAL[kind] | wanted
        subject = None
        if "model" in fields:
            model = shipped_catalog.models[fields["model"]]
            subject = model.network or model.architecture
            fields = fields | {"model": ModelChoice(catalog_id=model.id)}
        plan = Plan.model_validate({"workload": {"kind": kind} | fields})
        found: Estimate = how(plan, subject, machine, shipped_efficiencies)
        return found

    return made


def rate(made: Estimate) -> float:
    return made.metrics[RATES[made.plan.workload.kind]].value


def share(made: Estimate, limit: Limit) -> float:
    return sum(p.figure.value for p in made.time if p.limit is limit and p.id in LIMITS) / sum(
        p.figure.value for p in made.time
    )


def said(made: Estimate) -> set[str]:
    return {remark.id for remark in made.remarks if remark.id.startswith("data.")}


def check(made: Estimate) -> None:
    """The estimate makes sense, and its parts are the step that its metrics speak of."""
    check_figures(made)
    check_way(made)
    kind = KINDS[made.plan.workload.kind]
    step = next(
        f
        for name, f in made.metrics.items()
        if name in dict(kind.columns) and name.endswith("_s") and name != "job_s" and f.unit == "s"
    )
    assert sum(part.figure.value for part in made.time) == pytest.approx(step.value, rel=1e-9)
    for part in made.time:
        assert part.figure.low <= part.figure.value <= part.figure.high


@pytest.mark.parametrize("kind", USUAL)
def test_storage_that_nobody_speaks_of_never_makes_a_step_wait(estimated, kind):
    made = estimated(kind)
    assert Limit.STORAGE not in dict(made.limits)
    assert not {part.id for part in made.time} & set(LIMITS)
    assert next(need.offered for need in made.host if need.id == "storage_rate") is None


@pytest.mark.parametrize("kind", USUAL)
def test_fast_storage_changes_nothing(estimated, kind):
    unknown, fast = estimated(kind), estimated(kind, storage_bytes_per_s=FAST)
    assert fast.metrics == unknown.metrics
    assert fast.time == unknown.time
    assert "data.storage_enough" in said(fast)


@pytest.mark.parametrize("kind", USUAL)
def test_slow_storage_is_the_limit_with_its_share(estimated, kind):
    fast, slow = estimated(kind), estimated(kind, storage_bytes_per_s=SLOW)
    check(slow)
    assert slow.limits[0][0] is Limit.STORAGE
    assert slow.limits[0][1] == pytest.approx(share(slow, Limit.STORAGE))
    assert 0.5 < slow.limits[0][1] < 1
    assert rate(slow) < rate(fast) / 2
    assert "data.waits_for_storage" in said(slow)
    need = next(need for need in slow.host if need.id == "storage_rate")
    assert need.offered == SLOW
    assert need.need.value == pytest.approx(
        next(n.need.value for n in fast.host if n.id == "storage_rate"), rel=1e-6
    ), "what is needed is what would keep the GPUs busy, not what waiting GPUs read"


@pytest.mark.parametrize("kind", USUAL)
def test_what_storage_limits_is_read_at_its_rate(estimated, kind):
    """Bytes a second of the items that are done are those of the storage, to the last digit of the range's middle."""
    each = {"training": 4.0, "vision": 110e3, "diffusion-training": 3e5, "speech": 16e3, "by-hand": 1e6}[kind]
    made = estimated(kind, storage_bytes_per_s=SLOW)
    assert rate(made) * each == pytest.approx(SLOW, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(list(USUAL)),
    rates=st.lists(st.floats(1e3, 1e13), min_size=2, max_size=4, unique=True).map(sorted),
    storage=st.sampled_from([None, *Storage]),
)
def test_faster_storage_is_never_slower(estimated, kind, rates, storage):
    made = [estimated(kind, data_storage=storage, storage_bytes_per_s=r) for r in rates]
    for one, other in itertools.pairwise(made):
        check(one)
        assert rate(one) <= rate(other) * (1 + 1e-9)
        assert share(one, Limit.STORAGE) >= share(other, Limit.STORAGE) - 1e-9
        name = RATES[kind]
        assert one.metrics[name].low <= other.metrics[name].low * (1 + 1e-9)
        assert one.metrics[name].high <= other.metrics[name].high * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(list(PREPARED)),
    threads=st.lists(st.integers(1, 4000), min_size=2, max_size=4, unique=True).map(sorted),
    workers=st.one_of(st.none(), st.integers(0, 64)),
    storage=st.one_of(st.none(), st.sampled_from(list(Storage))),
)
def test_more_threads_are_never_slower(estimated, kind, threads, workers, storage):
    fields = PREPARED[kind] | {"workers": workers, "data_storage": storage}
    made = [estimated(kind, vcpus=float(t), **fields) for t in threads]
    for one, other in itertools.pairwise(made):
        check(one)
        assert rate(one) <= rate(other) * (1 + 1e-9)


@settings(max_examples=20, deadline=None)
@given(
    kind=st.sampled_from(list(PREPARED)), workers=st.integers(1, 64), vcpus=st.one_of(st.none(), st.integers(1, 500))
)
def test_more_workers_are_never_slower_and_none_at_all_is_slowest(estimated, kind, workers, vcpus):
    def at(count: int | None) -> float:
        return rate(estimated(kind, vcpus=vcpus, workers=count, **PREPARED[kind]))

    assert at(0) <= at(workers) * (1 + 1e-9)
    assert at(workers) <= at(workers + 1) * (1 + 1e-9)
    assert at(workers) <= at(None) * (1 + 1e-9)


@pytest.mark.parametrize("kind", PREPARED)
def test_one_thread_is_the_limit_and_a_thousand_are_none(estimated, kind):
    unknown, one, many = (estimated(kind, vcpus=v, **PREPARED[kind]) for v in (None, 1.0, 4000.0))
    assert dict(one.limits)[Limit.CPU] > share(one, Limit.CPU) * 0.99
    assert share(one, Limit.CPU) > 0.05
    assert "data.waits_for_cpu" in said(one)
    assert rate(one) < rate(unknown) == rate(many)
    assert one.metrics[RATES[kind]].certainty is Certainty.RULE
    assert one.metrics[RATES[kind]].rung is Rung.ROOFLINE


@pytest.mark.parametrize("kind", PREPARED)
def test_threads_that_are_stated_count_instead_of_the_machines(estimated, kind):
    """A container's limit: 4 of 4,000 threads; a machine of which nothing is known is as good as one of four."""
    stated = [estimated(kind, vcpus=v, **PREPARED[kind] | {"workers": 2}) for v in (4.0,)]
    limited = estimated(kind, vcpus=4000.0, how=limited_to(4), **PREPARED[kind] | {"workers": 2})
    assert rate(limited) == rate(stated[0])
    assert next(need.offered for need in limited.host if need.id == "vcpus") == 4


def limited_to(threads: int) -> Any:
    def made(plan: Plan, *others: Any) -> Estimate:
        return estimate(
            plan.model_copy(update={"workload": plan.workload.model_copy(update={"vcpus": threads})}), *others
        )

    return made


def test_a_workload_without_workers_reads_and_prepares_while_the_gpus_wait(estimated):
    fields = {"storage_bytes_per_s": 2e9, "vcpus": 4000.0}
    busy = estimated("vision").metrics["vision_step_s"].value
    none = estimated("vision", workers=0, **fields)
    check(none)
    assert {part.id for part in none.time if part.id in LIMITS} == {"data_read", "data_prepare"}
    read, prepare = 256 * 8 * 110e3 / 2e9, 256 * (110e3 / 5e7 + 1 / 128)
    assert none.metrics["vision_step_s"].value == pytest.approx(busy + read + prepare)
    assert "data.no_workers" in said(none)


def test_images_that_are_ready_are_neither_read_nor_prepared(estimated):
    made = estimated("vision", data="ready", vcpus=1.0, storage_bytes_per_s=SLOW, workers=0)
    assert not {part.id for part in made.time} & set(LIMITS)
    assert {"data.nothing_to_read", "data.nothing_to_prepare"} <= said(made)


def test_decoding_on_the_gpu_and_tokens_made_beforehand_spare_the_cpu(estimated):
    assert rate(estimated("vision", data="gpu", vcpus=32.0)) > rate(estimated("vision", vcpus=32.0))
    text, tokens = (estimated("training", data=data, vcpus=1.0, global_batch=512) for data in ("text", "tokens"))
    assert share(text, Limit.CPU) > 0 == share(tokens, Limit.CPU)


@pytest.mark.parametrize("kind", USUAL)
def test_a_kind_of_storage_stands_for_its_rule_with_the_range_of_that(estimated, kind, shipped_efficiencies):
    rule = shipped_efficiencies.constants("answers", "storage network")
    stated = estimated(kind, storage_bytes_per_s=rule["storage_bytes_per_s"])
    by_kind = estimated(kind, data_storage="network")
    name = RATES[kind]
    assert rate(by_kind) == rate(stated)
    assert by_kind.metrics[name].low <= stated.metrics[name].low
    offered = next(need.offered for need in by_kind.host if need.id == "storage_rate")
    assert offered == rule["storage_bytes_per_s"]


def test_a_rule_that_may_be_too_slow_widens_the_range_before_the_step_waits(estimated):
    """A local drive reads 3 GB/s, at worst 1: enough for these images, and not enough for them at worst."""
    plain = estimated("vision", batch=400, vcpus=4000.0)
    local = estimated("vision", batch=400, vcpus=4000.0, data_storage="local", image_bytes=50e3)
    assert rate(local) == rate(plain)
    assert local.metrics["images_per_s"].low < plain.metrics["images_per_s"].low
    assert local.metrics["images_per_s"].high == plain.metrics["images_per_s"].high
    assert local.metrics["images_per_s"].why.id == "data.why"


@pytest.mark.parametrize("kind", ["vision", "training"])
def test_nodes_share_a_shared_storage_and_have_the_others_each_for_itself(estimated, kind):
    fields = {"storage_bytes_per_s": 2e4, "global_batch": 512} if kind == "training" else {"storage_bytes_per_s": 2e4}
    own = [rate(estimated(kind, nodes=n, data_storage="network", **fields)) for n in (1, 4)]
    shared = [rate(estimated(kind, nodes=n, data_storage="shared", **fields)) for n in (1, 4)]
    assert own[1] == pytest.approx(4 * own[0], rel=1e-6)
    assert shared[1] == pytest.approx(shared[0], rel=1e-6)
    assert own[0] == shared[0]


def test_of_nodes_that_share_a_sample_one_reads_it(estimated):
    """Tensor parallel over two nodes: both work on the same tokens, which are read once."""
    wide = {"storage_bytes_per_s": 1e4, "sharding": None, "global_batch": 64}
    apart = rate(estimated("training", nodes=2, **wide))
    together = rate(estimated("training", nodes=2, **wide | {"pipeline_parallel": 16}))
    assert apart == pytest.approx(2e4 / 4, rel=1e-6)
    assert together == pytest.approx(1e4 / 4, rel=1e-6)


@pytest.mark.parametrize("kind", USUAL)
def test_waiting_is_explained_down_to_its_sources(estimated, kind):
    made = estimated(kind, vcpus=2.0, how=explain, storage_bytes_per_s=SLOW, **PREPARED.get(kind, {}))
    waits = [part for part in made.time if part.id in LIMITS]
    assert waits
    for part in waits:
        assert part.figure.derivation is not None
        assert not list(without_origin(part.figure.derivation))
    assert "data_wait_seconds" in set(formulas(made.metrics[RATES[kind]].derivation))


def formulas(step: Step | None) -> Any:
    if step is not None:
        yield step.formula.id
        for argument in step.arguments:
            yield from formulas(argument.step)


def without_origin(step: Step) -> Any:
    for argument in step.arguments:
        if argument.step is not None:
            yield from without_origin(argument.step)
        elif argument.origin is None and argument.value not in {0, 1}:
            yield argument.name, argument.value


@pytest.mark.parametrize(
    ("kind", "fields", "goal", "wanted"),
    [
        ("vision", {"data_storage": "network", "storage_bytes_per_s": 1e8, "image_bytes": 20e3}, 0.5, "local_storage"),
        ("vision", {"data_storage": "local", "storage_bytes_per_s": 1e9}, 0.5, "storage_rate"),
        ("vision", {"data_storage": "shared", "storage_bytes_per_s": 1e9}, 0.5, "shared_storage_rate"),
        ("vision", {"vcpus": 256}, 0.5, "decode_on_gpu"),
        ("vision", {"vcpus": 4000, "workers": 1}, 0.5, "workers"),
        ("training", {"vcpus": 1, "data": "text", "global_batch": 512}, 0.95, "tokenised"),
        ("by-hand", {"data_storage": "object", "read_bytes": 3e5}, 0.9, "local_storage"),
    ],
)
def test_what_lets_a_step_wait_less_is_among_the_changes(
    estimated, shipped_catalog, shipped_efficiencies, kind, fields, goal, wanted
):
    """The goal is a share of what the machine does without waiting."""
    free = {name: value for name, value in fields.items() if name in {"data", "global_batch", "read_bytes"}}
    wished = goal * rate(estimated(kind, **free))
    asked = {"tokens": 1e9, "deadline_s": 1e9 / wished} if kind == "training" else {"rate_goal": wished}
    made = estimated(kind, **fields | asked)
    assert made.unmet
    model = getattr(made.plan.workload, "model", None)
    entry = shipped_catalog.models[model.catalog_id] if model else None
    subject = (entry.network or entry.architecture) if entry else None
    helped = advised(made, subject, shipped_efficiencies, shipped_catalog.gpus)
    assert f"change.{wanted}" in {change.what.id for change in helped.changes}


@pytest.mark.parametrize("data", [{"data_storage": "shared", "storage_bytes_per_s": 3e4}, {"data": "text", "vcpus": 2}])
def test_a_search_finds_what_an_estimate_says(shipped_catalog, shipped_efficiencies, data):
    model = shipped_catalog.models["Qwen/Qwen2.5-0.5B"]
    work = {"kind": "training", "model": {"catalog_id": model.id}, "global_batch": 512, "tokens": 1e9} | data
    plan = Plan.model_validate({"workload": work, "constraints": Constraints(max_gpus=16).model_dump(mode="json")})
    found = search(plan, model.architecture, shipped_catalog, shipped_efficiencies, shipped_catalog.currencies)
    waiting = 0
    for candidate in found.candidates[:40]:
        made = estimate(candidate.plan, model.architecture, candidate.machine, shipped_efficiencies)
        for name in ("step_s", "tokens_per_s", "job_s", "mfu"):
            assert made.metrics[name].value == pytest.approx(candidate.metrics[name], rel=1e-9), name
        waiting += any(part.id in LIMITS for part in made.time)
    assert waiting > 10


OF_THREADS: Mapping[str, dict[str, Any]] = {
    "training": {"model": "Qwen/Qwen2.5-0.5B", "global_batch": 512, "tokens": 1e9, "data": "text"},
    "vision": {"model": "torchvision/resnet50", "job": "training", "batch": 256, "images": 1_281_167, "epochs": 90},
    "diffusion-training": {"model": "stable-diffusion-xl-base-1.0 UNet", "items": 1e6, "width": 256, "height": 256},
}
"""Work whose data the threads of the machines that are offered prepare."""
WAITS = {"vision"}
"""Of them what waits for the CPU on some of the machines that carry it."""


@pytest.mark.parametrize("kind", OF_THREADS)
def test_threads_of_each_machine_count_in_a_search(shipped_catalog, shipped_efficiencies, kind):
    """What is read is prepared by the threads that each offer has; one that says nothing of them never waits."""
    entry = shipped_catalog.models[OF_THREADS[kind]["model"]]
    subject = entry.network or entry.architecture
    work = {"kind": kind} | OF_THREADS[kind] | {"model": {"catalog_id": entry.id}}
    plan = Plan.model_validate({"workload": work})
    found = search(plan, subject, shipped_catalog, shipped_efficiencies, shipped_catalog.currencies)
    seen = {False: 0, True: 0}
    waiting = 0
    for candidate in found.candidates:
        known = candidate.machine.host.vcpus is not None
        if seen[known] < 15:
            seen[known] += 1
            made = estimate(candidate.plan, subject, candidate.machine, shipped_efficiencies)
            assert candidate.metrics[RATES[kind]] > 0
            for name, value in candidate.metrics.items():
                assert made.metrics[name].value == pytest.approx(value, rel=1e-9), name
            assert known or share(made, Limit.CPU) == 0
            waiting += share(made, Limit.CPU) > 0
    assert seen[True] > 5
    assert waiting or kind not in WAITS


@pytest.fixture
def private(tmp_path, shipped_catalog):
    """A catalog in which one offer says what its own drives read: 200 MB/s."""
    offer = shipped_catalog.instances["aws/p4d.24xlarge"]
    own = tmp_path / "overlays"
    own.mkdir()
    (own / "drives.csv").write_text(
        "id,provider,name,gpu,gpu_count,local_storage_gb_per_s\n"
        f"{offer.id},{offer.provider},{offer.name},{offer.gpu_text},{offer.gpu_count},0.2\n",
        encoding="utf-8",
    )
    catalog = load_catalog(shipped("catalogs"), overlay_files(own))
    assert catalog.problems == ()
    return catalog


def resnet_on(catalog, efficiencies, how: Any = estimate, **fields: Any) -> Estimate:
    machine = machine_of(MachineChoice(instance_id="aws/p4d.24xlarge"), catalog, catalog.currencies)
    work = {"kind": "vision", "job": "training", "data": "gpu", "image_bytes": 500e3, "batch": 256} | fields
    made: Estimate = how(
        Plan.model_validate({"workload": work}),
        catalog.models["torchvision/resnet50"].network,
        machine,
        efficiencies,
    )
    return made


def test_what_an_offer_says_of_its_drives_stands_before_the_rule(private, shipped_efficiencies):
    made = resnet_on(private, shipped_efficiencies, how=explain, data_storage="local")
    assert made.metrics["images_per_s"].value == pytest.approx(0.2e9 / 500e3)
    assert made.limits[0][0] is Limit.STORAGE
    waited = next(part.figure for part in made.time if part.id == "data_read")
    assert "drives.csv" in str(sources(waited.derivation))
    stated = resnet_on(private, shipped_efficiencies, data_storage="local", storage_bytes_per_s=0.4e9)
    assert stated.metrics["images_per_s"].value == pytest.approx(0.4e9 / 500e3)
    elsewhere = resnet_on(private, shipped_efficiencies, data_storage="network")
    assert elsewhere.metrics["images_per_s"].value == pytest.approx(0.6e9 / 500e3)
    assert not {part.id for part in resnet_on(private, shipped_efficiencies).time} & {"data_read"}


def sources(step: Step | None) -> list[str]:
    """The citations of everything below a step."""
    found = []
    for argument in step.arguments if step else ():
        found += sources(argument.step)
        if argument.origin is not None and argument.origin.fact is not None:
            found.append(f"{argument.origin.fact.source.id} {argument.origin.fact.source.citation}")
    return found


def test_offers_whose_drives_differ_are_told_apart_in_a_search(private, shipped_efficiencies):
    work = {"kind": "vision", "job": "training", "data": "gpu", "image_bytes": 500e3, "data_storage": "local"}
    plan = Plan.model_validate({"workload": work | {"batch": 256}})
    network = private.models["torchvision/resnet50"].network
    found = search(plan, network, private, shipped_efficiencies, private.currencies)
    rates = {c.machine.instance.id: c.metrics["images_per_s"] for c in found.candidates if c.machine.instance}
    assert rates["aws/p4d.24xlarge"] == pytest.approx(0.2e9 / 500e3)
    assert max(rates.values()) > 5 * rates["aws/p4d.24xlarge"]
