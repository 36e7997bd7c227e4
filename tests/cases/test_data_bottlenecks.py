"""Public cases of GPUs that waited for their data, by their ids: what was seen, and what we say of that run."""

from dataclasses import replace
from typing import Any

import pytest

from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.engine.answers.asking import Asking
from gpuplanner.engine.answers.loading import Loading
from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.feed import LIMITS
from gpuplanner.engine.machines import bare, machine_of
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Cpu
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.merging import merged
from gpuplanner.probe.output import Output
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.reads_data import Storage
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.vision import Vision, VisionJob
from tests.acceptance.judged import ENGLISH, judge, promising

RESNET, DENSENET, DETECTOR = "torchvision/resnet50", "timm/densenet121", "ultralytics/yolov8l"


@pytest.fixture
def trained(shipped_catalog, shipped_efficiencies):
    def made(model: str, gpu: str, gpus: int = 1, **fields: Any) -> Estimate:
        work = Vision(model=ModelChoice(catalog_id=model), job=VisionJob.TRAINING, **fields)
        machine = bare(shipped_catalog.gpus[gpu], gpus)
        return estimate(Plan(workload=work), shipped_catalog.models[model].network, machine, shipped_efficiencies)

    return made


@pytest.fixture
def asked(shipped_catalog, shipped_efficiencies):
    """The lines of an answer about loading, on the plan's machine with so much host memory."""

    def lines(plan: Plan, question: Loading, ram_bytes: float | None = None) -> dict[str, float]:
        assert plan.machine is not None
        machine = machine_of(plan.machine, shipped_catalog, shipped_catalog.currencies)
        machine = replace(machine, host=replace(machine.host, ram_bytes=ram_bytes))
        assert isinstance(plan.workload, Serving)
        model = shipped_catalog.models[plan.workload.model.catalog_id].architecture
        answer = question(Asking(plan, model, machine, shipped_efficiencies))
        return {line.id: line.figure.value for line in answer.lines if line.figure is not None}

    return lines


def waiting(made: Estimate, limit: Limit) -> float:
    """Of a step, what it waits for one thing."""
    whole = sum(part.figure.value for part in made.time)
    return sum(p.figure.value for p in made.time if p.id in LIMITS and p.limit is limit) / whole


def test_dat01_a_gpu_that_waits_for_its_loader_six_tenths_of_the_time_is_warned_of(trained):
    """A10, batches of 64, six workers. The network and its pictures are not named, so nothing is said of their rate.

    Of any that reads them at two fifths of what its GPU takes, six tenths of a step are waiting, and that is told.
    """
    photos = {
        "batch": 64, "images": 100e3, "image_bytes": 160e3, "vcpus": 64, "workers": 6, "data_storage": "network",
    }  # fmt: skip
    for network in (RESNET, DENSENET):
        free = trained(network, "nvidia-a10", **photos, storage_bytes_per_s=1e10)
        told = {remark.id for remark in free.remarks}
        assert "data.waits_for_storage" not in told
        given = 0.4 * free.metrics["images_per_s"].value * photos["image_bytes"]
        slow = trained(network, "nvidia-a10", **photos, storage_bytes_per_s=given)
        assert waiting(slow, Limit.STORAGE) == pytest.approx(0.6, abs=0.03)
        assert slow.limits[0][0] is Limit.STORAGE
        assert "data.waits_for_storage" in {remark.id for remark in slow.remarks}


def test_dat09_a_7b_that_loads_in_minutes_does_not_wait_for_its_storage(asked):
    """194 s with tensors opened on the CPU, 6 s on the GPU: what is read is the same, so the storage gave 2.25 GB/s.

    The loader's option is no part of a plan; that 194 s are not the time of such a storage is what we say.
    """
    work = Serving(model=ModelChoice(catalog_id="meta-llama/Llama-2-7b-hf"), tensor_parallel=1)
    plan = Plan(workload=work, machine=MachineChoice(gpu_id="nvidia-a100-sxm4-80gb", gpus=1, per_node=1))
    quick = asked(plan, Loading(Storage.LOCAL, 13.5e9 / 6))
    assert quick["load.weights"] == pytest.approx(13.5e9, rel=0.01)
    assert quick["load.read"] == pytest.approx(6, rel=0.01)
    assert quick["load.load"] < 194 / 10
    usual = asked(plan, Loading(Storage.LOCAL))
    assert usual["load.load"] < 194 / 10


def test_dat02_sixteen_threads_do_not_feed_eight_gpus_with_imagenet(trained):
    """32 CPUs were advised for eight GPUs, and four cores for each as the least."""
    made = trained(RESNET, "nvidia-v100-sxm2-16gb", 8, batch=64, vcpus=16)
    advised = trained(RESNET, "nvidia-v100-sxm2-16gb", 8, batch=64, vcpus=64)
    assert made.limits[0][0] is Limit.CPU
    assert waiting(made, Limit.CPU) > 0.5
    assert {"host.short.vcpus", "data.waits_for_cpu"} <= {remark.id for remark in made.remarks}
    assert next(need.need.value for need in made.host if need.id == "vcpus") > 32
    assert advised.metrics["images_per_s"].value > 3 * made.metrics["images_per_s"].value


def test_dat03_four_cpus_and_four_workers_leave_a_v100_idle(trained):
    """Chest X-rays of about 1.5 MB: the GPU was busy 5 % of the time, in bursts of as many batches as workers."""
    made = trained(DENSENET, "nvidia-v100-sxm2-32gb", batch=32, precision="fp32", vcpus=4, workers=4, image_bytes=1.5e6)
    assert made.limits[0][0] is Limit.CPU
    assert waiting(made, Limit.CPU) > 0.6
    assert "data.waits_for_cpu" in {remark.id for remark in made.remarks}


def test_dat04_what_neither_the_gpu_nor_the_workers_hold_up_is_the_storage(trained):
    """60,000 images in 50 minutes, 20 a second, with the GPU busy 50 to 70 % at most; 8 to 24 workers changed nothing.

    What the disk gave is not told, so nothing is fed in: a V100 and eight workers do more than 20 images a second,
    which leaves the storage. Whatever less than the GPU takes it gives, that is the rate, and no worker changes it.
    """
    photos = {
        "batch": 16, "image_px": 640, "images": 60e3, "image_bytes": 160e3, "vcpus": 64, "data_storage": "network",
    }  # fmt: skip
    free = trained(DETECTOR, "nvidia-v100-sxm2-16gb", **photos, workers=8, storage_bytes_per_s=1e10)
    alone = free.metrics["images_per_s"].value
    assert waiting(free, Limit.CPU) == waiting(free, Limit.STORAGE) == 0
    assert 20 / alone < 0.7
    for given in (0.2, 0.6):
        rates = []
        for workers in (8, 24):
            slow = {"workers": workers, "storage_bytes_per_s": given * alone * photos["image_bytes"]}
            made = trained(DETECTOR, "nvidia-v100-sxm2-16gb", **photos, **slow)
            assert waiting(made, Limit.STORAGE) == pytest.approx(1 - given, abs=0.05)
            assert waiting(made, Limit.CPU) == 0
            assert "data.waits_for_storage" in {remark.id for remark in made.remarks}
            rates.append(made.metrics["images_per_s"].value)
            assert made.metrics["job_s"].value == pytest.approx(60e3 / (given * alone), rel=0.01)
        assert rates[0] == rates[1] == pytest.approx(given * alone, rel=0.01)


def test_dat05_where_the_cpu_is_full_larger_batches_bring_nothing(trained):
    """The CPU was full and the GPU a quarter busy, with batches of 8 as of 48."""
    small, large = (trained(RESNET, "nvidia-rtx-3090", batch=batch, vcpus=4) for batch in (8, 48))
    for made in (small, large):
        assert made.limits[0][0] is Limit.CPU
        assert waiting(made, Limit.CPU) > 0.5
    assert large.metrics["images_per_s"].value < 1.25 * small.metrics["images_per_s"].value


def test_dat06_a_container_that_may_use_four_of_twelve_processors_has_four():
    """Its affinity and its number of processors say 12; `cpu.max` alone says otherwise."""
    twelve = Evidence(cpu=Cpu(cpus=12, allowed_cpus=12))
    for quota, processors in ((b"400000 100000\n", "4"), (b"max 100000\n", "12")):
        found = merged([twelve, inspect(Output.of(quota, "cpu.max")).evidence])
        told = judge("cpu.count", promising(cpus=12), cpu=found.cpu)
        assert told is not None
        assert told.measured is not None
        assert ENGLISH.text(told.measured) == processors
        assert told.verdict is (Verdict.PASS if processors == "12" else Verdict.FAIL)


def test_dat07_four_processes_that_read_all_files_of_a_72b_over_a_network_disk_take_hours(shipped_catalog, asked):
    """144 GB read by each of four processes at 100 MB/s: 1.6 hours, where reading them once takes 24 minutes."""
    model = shipped_catalog.models["Qwen/Qwen2-72B"]
    work = Serving(model=ModelChoice(catalog_id=model.id), tensor_parallel=4)
    plan = Plan(workload=work, machine=MachineChoice(gpu_id="nvidia-a100-sxm4-80gb", gpus=4, per_node=4))
    apart = asked(plan, Loading(Storage.NETWORK, 100e6, readers=4))
    cached = asked(plan, Loading(Storage.NETWORK, 100e6))
    assert apart["load.read_bytes"] == pytest.approx(576e9, rel=0.03)
    assert apart["load.read"] == pytest.approx(5760, rel=0.2)
    assert 1.2 * 3600 < apart["load.load"] < 1.7 * 3600
    assert cached["load.read"] == pytest.approx(apart["load.read"] / 4)


def test_dat07_files_larger_than_the_hosts_memory_are_read_by_each_process_again(shipped_catalog, asked):
    """The page cache cannot hold them: seen from what the machine has, without being told."""
    model = shipped_catalog.models["Qwen/Qwen2-72B"]
    work = Serving(model=ModelChoice(catalog_id=model.id), tensor_parallel=4)
    plan = Plan(workload=work, machine=MachineChoice(gpu_id="nvidia-a100-sxm4-80gb", gpus=4, per_node=4))
    small, large = (asked(plan, Loading(Storage.NETWORK, 100e6), ram_bytes=ram) for ram in (64e9, 512e9))
    assert small["load.read"] == pytest.approx(4 * large["load.read"])
