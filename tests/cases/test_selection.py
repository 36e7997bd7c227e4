"""Public cases of choosing and pricing GPUs, by their ids: what the catalog must say, and what it must never say."""

import pytest

from gpuplanner.catalog.entries import GpuProperty, PriceKind
from gpuplanner.catalog.names import Kind, names_of
from gpuplanner.catalog.overlays import overlay_files
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.links import Collective, reach
from gpuplanner.engine.machine import Topology
from gpuplanner.engine.machines import bare, machine_of, price_of
from gpuplanner.engine.serving_machine import gpu_numbers
from gpuplanner.facts import Direction
from gpuplanner.messages import InputError
from gpuplanner.paths import shipped
from gpuplanner.units import GB, GIB
from gpuplanner.workload.arithmetic import Arithmetic
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.science import Problem, Science
from gpuplanner.workload.speech import Speech, SpeechEngine, SpeechPrecision
from gpuplanner.workload.transcoding import EncodedCodec, Transcoding, VideoJob


@pytest.fixture(scope="module")
def names(shipped_catalog):
    return names_of(shipped_catalog)


def test_sel08_every_price_says_its_day_or_that_there_is_none(shipped_catalog):
    prices = [price for i in shipped_catalog.instances.values() for price in i.prices]
    assert prices
    assert all(price.source.citation for price in prices)
    assert all(price.date or price.source.date or price.source.accessed for price in prices)


def test_sel09_a_quote_of_ones_own_stands_before_the_catalogs_price(tmp_path, shipped_catalog):
    offer = next(i for i in shipped_catalog.instances.values() if i.gpu_id == "nvidia-a40" and i.price())
    own = tmp_path / "overlays"
    own.mkdir()
    (own / "quote.csv").write_text(
        "id,provider,name,gpu,gpu_count,price_per_hour,currency,region,price_date\n"
        f"{offer.id},{offer.provider},{offer.name},{offer.gpu_text},{offer.gpu_count},0.28,USD,us,2026-11-01\n",
        encoding="utf-8",
    )
    catalog = load_catalog(shipped("catalogs"), overlay_files(own))
    assert catalog.problems == ()
    machine = machine_of(MachineChoice(instance_id=offer.id), catalog, catalog.currencies)
    assert machine.usd_per_hour == pytest.approx(0.28)
    assert machine.price is not None
    assert machine.price.source.user


def test_sel10_a_price_that_no_source_gives_is_not_known_and_not_0(shipped_catalog):
    offer = shipped_catalog.instances["aws/p5e.48xlarge"]
    assert offer.price() is None
    machine = machine_of(MachineChoice(instance_id=offer.id), shipped_catalog, shipped_catalog.currencies)
    assert machine.price is None
    assert machine.usd_per_hour is None
    assert all(price.per_hour > 0 for i in shipped_catalog.instances.values() for price in i.prices)


def test_sel11_a_price_is_that_of_the_whole_machine(shipped_catalog):
    """0.94 was the host's alone. With its GPU it cost 4.05 then; the catalog's price is newer and says its day."""
    price = shipped_catalog.instances["gcp/a2-highgpu-1g"].price(PriceKind.ON_DEMAND)
    assert price is not None
    assert price.per_hour > 3 * 0.94
    assert price.date >= "2026"


def test_sel11_the_total_of_then_is_a_price_with_its_day(shipped_catalog):
    offer = shipped_catalog.instances["gcp/a2-highgpu-1g"]
    then = [price for price in offer.prices if price.date.startswith("2023")]
    assert [price.per_hour for price in then] == [pytest.approx(4.05, rel=0.05)]
    assert then[0].source.date == then[0].date
    now = price_of(offer)
    assert now is not None
    assert now.date > then[0].date
    assert machine_of(MachineChoice(instance_id=offer.id), shipped_catalog, {}).usd_per_hour == now.per_hour


def test_sel14_a_link_rate_says_its_direction(shipped_catalog, shipped_efficiencies):
    known = shipped_catalog.gpus["nvidia-h800-sxm5-80gb"].known(GpuProperty.LINK_BYTES_PER_S)
    assert (known.value, known.fact.basis.direction) == (200e9, Direction.ONE_WAY)
    both = [fact for fact in known.others if fact.basis.direction is Direction.BOTH_WAYS]
    assert [fact.value for fact in both] == [400e9]
    assert not known.disputed
    reached = reach(
        shipped_efficiencies, shipped_catalog.gpus["nvidia-h800-sxm5-80gb"], Collective.SEND, Topology.SWITCHED
    )
    assert reached.share(2.0) * known.value == pytest.approx(160e9, rel=0.15)


@pytest.mark.parametrize(
    ("name", "mebibytes", "gpu_id"),
    [("NVIDIA A10", 22_731, "nvidia-a10"), ("Tesla T4", 15_109, "nvidia-t4")],
    ids=["EST21", "EST21 a T4"],
)
def test_a_card_is_of_its_class_although_it_shows_less(
    names, name, mebibytes, gpu_id, shipped_catalog, shipped_efficiencies
):
    found = names.resolve(name, kind=Kind.GPU, memory_bytes=mebibytes * 2**20)
    assert found.id == gpu_id
    nominal = shipped_catalog.gpus[gpu_id].value(GpuProperty.MEMORY_BYTES)
    assert mebibytes * 2**20 == pytest.approx(nominal, rel=0.08)
    planned = gpu_numbers(bare(shipped_catalog.gpus[gpu_id], 1), "bf16", "vllm", False, shipped_efficiencies).numbers
    assert mebibytes * 2**20 * 0.95 < planned.usable_bytes < nominal


def test_est22_a_16_gb_card_that_shows_a_little_less(names, shipped_catalog):
    found = names.resolve("V100-SXM2", kind=Kind.GPU, memory_bytes=15.9955 * GIB)
    assert found.id == "nvidia-v100-sxm2-16gb"
    assert shipped_catalog.gpus[found.id].value(GpuProperty.MEMORY_BYTES) == 16 * GIB


@pytest.mark.parametrize("unknown", ["A40X", "H21", "RTX 9090", "my-gpu"])
def test_est26_an_unknown_gpu_is_refused_and_never_a_default(unknown, names, shipped_catalog):
    assert names.resolve(unknown, kind=Kind.GPU).id is None
    with pytest.raises(InputError) as raised:
        machine_of(MachineChoice(gpu_id=unknown), shipped_catalog, {})
    assert raised.value.message.id == "machines.unknown_gpu"


def test_est26_a_gpu_is_never_taken_for_one_of_a_like_name(names):
    assert names.resolve("H20", kind=Kind.GPU).id == "nvidia-h20-96gb"
    assert names.resolve("H200", kind=Kind.GPU).id != "nvidia-h20-96gb"


def test_sel06_video_work_leaves_out_gpus_without_an_encoder(shipped_catalog, shipped_efficiencies):
    """An H100 decodes and cannot encode; nor can an A100."""
    plan = Plan(workload=Transcoding(job=VideoJob.ENCODE))
    for gpu_id in ("nvidia-h100-sxm5-80gb", "nvidia-a100-sxm4-80gb"):
        with pytest.raises(InputError) as raised:
            estimate(plan, None, bare(shipped_catalog.gpus[gpu_id], 1), shipped_efficiencies)
        assert raised.value.message.id == "transcoding.no_nvenc"
    encodes = estimate(plan, None, bare(shipped_catalog.gpus["nvidia-l4"], 1), shipped_efficiencies)
    assert encodes.metrics["live_streams"].value > 1


def test_sel07_a_gpu_with_an_encoder_still_needs_the_library_in_the_container(shipped_catalog, shipped_efficiencies):
    plan = Plan(workload=Transcoding(written_codec=EncodedCodec.H264))
    made = estimate(plan, None, bare(shipped_catalog.gpus["nvidia-t4"], 1), shipped_efficiencies)
    assert made.metrics["live_streams"].value >= 1
    assert "transcoding.driver_library" in {message.id for message in made.remarks}


def test_sel03_density_fitting_is_ranked_by_fp64(shipped_catalog, shipped_efficiencies):
    """An A100 was up to ten times an L40: 19.5 against 1.4 TFLOPS of FP64."""
    plan = Plan(workload=Science(problem=Problem.DENSE, elements=20_000))
    a100, l40 = (
        estimate(plan, None, bare(shipped_catalog.gpus[gpu_id], 1), shipped_efficiencies)
        for gpu_id in ("nvidia-a100-sxm4-80gb", "nvidia-l40")
    )
    ratio = l40.metrics["science_step_s"].value / a100.metrics["science_step_s"].value
    assert 7 < ratio < 15
    assert "science.reduced_fp64" in {message.id for message in l40.remarks}


def test_sel04_basecalling_asks_for_the_precision_and_is_not_ranked_by_fp64(shipped_catalog, shipped_efficiencies):
    """By FP64 an H100 would be seventy L4; by what the network runs in it is six to nine."""

    def ratio(arithmetic):
        work = Science(problem=Problem.NETWORK, arithmetic=arithmetic, elements=1e6, values_each=1e9)
        fast, slow = (
            estimate(Plan(workload=work), None, bare(shipped_catalog.gpus[gpu_id], 1), shipped_efficiencies)
            for gpu_id in ("nvidia-h100-pcie-80gb", "nvidia-l4")
        )
        named = {message.id for message in fast.remarks}
        return slow.metrics["science_step_s"].value / fast.metrics["science_step_s"].value, named

    for_fp64, warned = ratio(Arithmetic.FP64)
    usual, _ = ratio(None)
    in_int8, _ = ratio(Arithmetic.INT8)
    assert "science.network_in_fp64" in warned
    assert for_fp64 > 40
    assert 5 < usual < 10
    assert 5 < in_int8 < 10


def speech_gb(shipped_catalog, shipped_efficiencies, **fields):
    """What Whisper large needs, in GB."""
    plan = Plan(workload=Speech(**fields))
    model = shipped_catalog.models["openai/whisper-large-v3"].architecture
    made = estimate(plan, model, bare(shipped_catalog.gpus["nvidia-a100-sxm4-80gb"], 1), shipped_efficiencies)
    return made.memory.needed.value / GB


def test_sel15_whisper_needs_a_few_gigabytes_however_much_a_program_takes(shipped_catalog, shipped_efficiencies):
    """51 GB were taken on a card of 80 for a clip of ten seconds; the rest was the batch and the cache's policy."""
    fields = {"engine": SpeechEngine.TRANSFORMERS, "audio_s": 10.0, "batch": 1, "beam": 1}
    assert 4 * 0.75 < speech_gb(shipped_catalog, shipped_efficiencies, **fields) < 6 * 1.25


def test_sel16_the_program_decides_the_memory(shipped_catalog, shipped_efficiencies):
    fast = speech_gb(shipped_catalog, shipped_efficiencies, engine=SpeechEngine.FASTER_WHISPER, batch=1)
    own = speech_gb(
        shipped_catalog, shipped_efficiencies, engine=SpeechEngine.OPENAI, precision=SpeechPrecision.CAST, batch=1
    )
    assert fast == pytest.approx(4.6, rel=0.15)
    assert own == pytest.approx(10, rel=0.15)
