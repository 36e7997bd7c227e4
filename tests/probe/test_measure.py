"""The measuring program, run as it runs on a machine, against driver libraries with recorded values."""

import ast
import time
from pathlib import Path

import pytest

from gpuplanner.probe.there import bundle, source_of
from gpuplanner.probe.there.alone import LARGEST, MOST_BYTES, USUAL_BYTES
from gpuplanner.probe.there.measure import WITH_GPUS
from gpuplanner.probe.transports.programs import MEASURE
from tests.probe.native_libraries import Libraries, There

ALL = ("cuda", "nvml", "cublas", "cublaslt", "nccl")
JOB = {"limit_s": 60.0, "even_if_busy": False, "only": list(WITH_GPUS)}


def only(*steps):
    return {**JOB, "only": list(steps)}


@pytest.fixture
def measured(libraries, start):
    def run(*sources, job=JOB, **settings):
        libraries.put(*(sources or ALL))
        return start(MEASURE, job, **settings).frames()

    return run


def kind(frames, name):
    return [frame for frame in frames if frame["frame"] == "result" and frame["kind"] == name]


def failed(frames):
    return [(frame["what"], frame["gpu"], frame["reason"]) for frame in frames if frame["frame"] == "failed"]


def rates(frames, path):
    return {
        (frame.get("source"), frame.get("target"), frame["bytes"], frame["method"]): frame["gb_per_s"]
        for frame in kind(frames, "bandwidth")
        if frame["path"] == path and not frame["both_ways"]
    }


@pytest.fixture(scope="module")
def eight(compiled_libraries, tmp_path_factory):
    libraries = Libraries(tmp_path_factory.mktemp("eight"), compiled_libraries)
    libraries.put(*ALL)
    there = There(MEASURE, JOB, libraries.environment(gpus=8))
    frames = there.frames()
    errors = there.errors.read()
    there.close()
    return frames, libraries, errors


def test_eight_gpus_are_measured_and_everything_is_given_back(eight):
    frames, libraries, errors = eight
    assert errors == b""
    assert (frames[0]["frame"], frames[-2]["frame"], frames[-1]) == ("hello", "freed", {"frame": "end", "whole": True})
    assert failed(frames) == []
    assert libraries.left() == {}
    assert 0 < libraries.most_bytes() <= MOST_BYTES
    machine = next(frame for frame in frames if frame["frame"] == "machine")
    assert [gpu["index"] for gpu in machine["gpus"]] == list(range(8))
    assert machine["gpus"][3] == {
        "index": 3, "name": "NVIDIA Stub 3", "uuid": "GPU-03030303-0303-0303-0303-030303030303",
        "pci_bus_id": "0000:04:00.0", "memory_bytes": 80 << 30, "compute_capability": "9.0", "multiprocessors": 132,
    }  # fmt: skip
    assert (machine["driver_cuda"], machine["missing"]) == (12040, [])


def test_rates_are_the_bytes_over_the_time_on_the_gpu(eight):
    frames, _, _ = eight
    to = rates(frames, "host_to_device")
    assert len(to) == 8 * 5
    assert to[None, 5, LARGEST, "pinned"] == pytest.approx(55.4, rel=1e-3)
    assert rates(frames, "device_to_host")[0, None, 1 << 20, "pinned"] == pytest.approx(53.1, rel=1e-3)
    # Read and written bytes: the driver's copy and our own kernel.
    memory = rates(frames, "device_memory")
    assert memory[2, 2, LARGEST, "copy_engine"] == pytest.approx(2700, rel=1e-3)
    assert memory[2, 2, LARGEST, "kernel"] == pytest.approx(3000, rel=1e-3)
    assert all(frame["counts_both"] is (frame["path"] == "device_memory") for frame in kind(frames, "bandwidth"))


def test_memory_as_programs_have_it_is_told_from_pinned(eight):
    frames, _, _ = eight
    assert rates(frames, "host_to_device")[None, 5, USUAL_BYTES, "pageable"] == pytest.approx(11.5, rel=1e-3)
    assert rates(frames, "device_to_host")[5, None, USUAL_BYTES, "pageable"] == pytest.approx(9.8, rel=1e-3)


def test_both_directions_at_once_are_added_up(eight):
    frames, _, _ = eight
    both = [frame for frame in kind(frames, "bandwidth") if frame["both_ways"]]
    assert [(frame["path"], frame["target"], frame["method"]) for frame in both] == [
        ("host_to_device", gpu, "pinned") for gpu in range(8)
    ]
    # The slower direction ends last: twice its rate.
    assert both[0]["gb_per_s"] == pytest.approx(2 * 53.1, rel=1e-3)


def test_each_pair_is_measured_in_both_directions(eight):
    frames, _, _ = eight
    between = rates(frames, "device_to_device")
    large = {pair[:2]: rate for pair, rate in between.items() if pair[2] == LARGEST}
    assert len(large) == 56
    assert large[0, 1] == pytest.approx(26, rel=1e-3)
    assert large[1, 0] == pytest.approx(396, rel=1e-3)
    # By size from the first GPU alone: the chart needs one path of each kind.
    assert len(between) == 56 + 7 * 3


def test_arithmetic_says_which_way_gave_the_number(eight):
    frames, _, _ = eight
    of_one = [frame for frame in kind(frames, "matrix") if frame["gpu"] == 6]
    found = {(frame["dtype"], frame["path"]): frame["tflop_per_s"] for frame in of_one}
    assert found == pytest.approx(
        {
            ("fp32", "ptx_fma"): 60, ("bf16", "ptx_mma"): 610, ("fp32", "cublas"): 52, ("tf32", "cublas"): 400,
            ("fp16", "cublas"): 795, ("bf16", "cublas"): 795, ("int8", "cublas"): 1500, ("fp8", "cublaslt"): 1500,
        },
        rel=1e-3,
    )  # fmt: skip
    assert {frame["m"] for frame in of_one if frame["path"] == "cublas"} == {4096, 8192}


def test_fp4_where_the_gpu_has_units_for_it(measured, libraries, tmp_path):
    held = tmp_path / "held"
    frames = measured("cuda", "nvml", "cublaslt", gpus=1, capability=100, lt_held=held, job=only("matrix_lt"))
    found = {(frame["dtype"], frame["path"]): frame["tflop_per_s"] for frame in kind(frames, "matrix")}
    assert found == pytest.approx({("fp8", "cublaslt"): 1500, ("fp4", "cublaslt"): 5600}, rel=1e-3)
    assert failed(frames) == []
    assert (libraries.left(), held.read_text()) == ({}, "0")
    assert libraries.most_bytes() <= MOST_BYTES


def test_a_library_from_before_fp4_says_so_and_fp8_stands(measured, tmp_path):
    held = tmp_path / "held"
    frames = measured("cuda", "nvml", "cublaslt", gpus=1, capability=100, old_lt=1, lt_held=held, job=only("matrix_lt"))
    assert [frame["dtype"] for frame in kind(frames, "matrix")] == ["fp8"]
    assert [frame["said"] for frame in frames if frame["frame"] == "failed"] == ["cublasLtMatmulDescSetAttribute: 7"]
    assert held.read_text() == "0"


def test_no_fp8_before_its_compute_capability_and_no_library_is_looked_for(measured):
    frames = measured("cuda", "nvml", gpus=1, capability=80, job=only("matrix_lt"))
    assert (kind(frames, "matrix"), failed(frames)) == ([], [])


@pytest.fixture
def with_torch(monkeypatch):
    """A Python that finds a module by this name, which counts on a clock of its own; none of PyTorch is in it."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "native" / "python"))
    return {**only("torch"), "torch": source_of("torch_rates")}


def test_pytorch_multiplies_and_attends_in_a_process_of_its_own(measured, libraries, with_torch):
    frames = measured("cuda", "nvml", gpus=2, job=with_torch)
    found = {(frame["gpu"], frame["dtype"], frame["path"]): frame["tflop_per_s"] for frame in kind(frames, "matrix")}
    assert found == pytest.approx(
        {(gpu, *each): rate for gpu in (0, 1) for each, rate in {
            ("fp32", "torch"): 48, ("tf32", "torch"): 390, ("fp16", "torch"): 700, ("bf16", "torch"): 710,
            ("bf16", "torch_sdpa"): 480,
        }.items()},
        rel=1e-2,
    )  # fmt: skip
    assert failed(frames) == []
    assert libraries.left() == {}


def test_of_a_rate_through_pytorch_stands_what_its_own_gpu_did_meanwhile(measured, with_torch, monkeypatch):
    monkeypatch.setenv("STUB_TORCH", "takes_time")
    frames = measured("cuda", "nvml", gpus=2, capability=70, always_hot=1, job=with_torch)
    seen = [(frame["gpu"], frame["during"]["throttle_reasons"], frame["during"]["temperature_c"])
            for frame in kind(frames, "matrix")]  # fmt: skip
    assert seen == [(0, 4, 61)] * 3 + [(1, 0x40, 62)] * 3
    # Five rounds of 50 ms: what was seen while PyTorch loaded and while the others worked is in none of them.
    assert max(frame["during"]["looks"] for frame in kind(frames, "matrix")) <= 15


def test_of_a_copy_between_two_gpus_it_is_told_which_of_them_was_held_back(measured):
    frames = measured("cuda", "nvml", gpus=2, sleep_us=20_000, always_hot=1, job=only("device_to_device"))
    pairs = [frame for frame in kind(frames, "bandwidth") if frame["during"].get("looks", 0) >= 4]
    assert {(frame["source"], frame["target"]) for frame in pairs} == {(0, 1), (1, 0)}
    for frame in pairs:
        assert frame["during"]["throttle_reasons_by_gpu"] == {"0": 4, "1": 0x40}


def test_what_pytorch_cannot_do_is_said_and_the_rest_stands(measured, with_torch, monkeypatch):
    monkeypatch.setenv("STUB_TORCH", "no_attention")
    frames = measured("cuda", "nvml", gpus=1, job=with_torch)
    assert {frame["path"] for frame in kind(frames, "matrix")} == {"torch"}
    said = [frame["said"] for frame in frames if frame["frame"] == "failed"]
    assert said == ["torch_sdpa: No available kernel. Aborting execution."]


def test_a_pytorch_that_does_not_load_is_said_in_its_words(measured, with_torch, monkeypatch):
    monkeypatch.setenv("STUB_TORCH", "broken")
    frames = measured("cuda", "nvml", gpus=1, job=with_torch)
    assert failed(frames) == [("torch", None, "library_error")]
    assert "libcudart.so.99" in next(frame["said"] for frame in frames if frame["frame"] == "failed")


def test_without_pytorch_that_is_said(measured, with_torch, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert failed(measured("cuda", "nvml", gpus=1, job=with_torch)) == [("torch", None, "no_library")]


def test_stopped_while_pytorch_loads_no_process_stays(libraries, start, with_torch, monkeypatch, tmp_path):
    monkeypatch.setenv("STUB_TORCH", f"hangs:{tmp_path / 'pid'}")
    libraries.put("cuda", "nvml")
    there = start(MEASURE, with_torch, gpus=1)
    end = time.monotonic() + 20
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text(encoding="utf-8"):
        assert time.monotonic() < end
    pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
    began = time.monotonic()
    there.process.terminate()
    assert there.process.wait(3) == 0
    assert time.monotonic() - began < 2
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")


def test_all_reduce_counts_as_nccl_tests_does(eight):
    frames, _, _ = eight
    rows = kind(frames, "collective")
    assert [row["bytes"] for row in rows] == [1 << 20, 16 << 20, 128 << 20, 512 << 20]
    assert {(row["ranks"], row["nccl_version"]) for row in rows} == {(8, "2.27.3")}
    assert [row.get("wrong") for row in rows] == [None, None, None, 0]
    assert rows[-1]["bus_gb_per_s"] == pytest.approx(480, rel=1e-3)
    assert rows[-1]["algorithm_gb_per_s"] == pytest.approx(480 * 8 / 14, rel=1e-3)


def test_progress_grows_to_the_end(eight):
    frames, _, _ = eight
    shares = [frame["share"] for frame in frames if frame["frame"] == "measuring"]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.9 < shares[-1] < 1
    assert {frame["gpu"] for frame in frames if frame["frame"] == "measuring"} == {*range(8), None}


def test_what_the_gpu_did_meanwhile_stands_with_the_result(measured):
    frames = measured("cuda", "nvml", gpus=1, sleep_us=4_000)
    during = kind(frames, "bandwidth")[-1]["during"]
    assert during["looks"] >= 1
    assert {name: during[name] for name in during if name != "looks"} == {
        "clock_sm_mhz": 1755, "power_w": 431.5, "temperature_c": 61, "pcie_gen": 5, "pcie_width": 16,
        "throttle_reasons": 4,
    }  # fmt: skip


def test_a_gpu_without_memory_for_it_says_so_and_the_others_go_on(measured, libraries):
    frames = measured(gpus=3, fail="cuMemAlloc_v2:1:2")
    told = failed(frames)
    assert ("host_to_device", 1, "out_of_memory") in told
    assert {gpu for _, gpu, _ in told} == {1, None}
    assert told[-1] == ("all_reduce", None, "out_of_memory")
    said = next(frame["said"] for frame in frames if frame["frame"] == "failed")
    assert said == "CUDA_ERROR_OUT_OF_MEMORY (2) from cuMemAlloc_v2"
    assert {pair[:2] for pair in rates(frames, "device_to_device")} == {(0, 2), (2, 0)}
    assert libraries.left() == {}


def test_an_error_in_the_middle_ends_that_gpu_alone(measured, libraries):
    frames = measured(gpus=2, fail="cuMemcpyDtoHAsync_v2:0:700:20")
    told = failed(frames)
    assert told[0] == ("device_to_host", 0, "gpu_fault")
    assert {gpu for _, gpu, _ in told} == {0}
    assert not [frame for frame in kind(frames, "matrix") if frame["gpu"] == 0]
    assert [frame for frame in kind(frames, "matrix") if frame["gpu"] == 1]
    assert libraries.left() == {}


def test_a_context_that_cannot_be_had(measured, libraries):
    frames = measured(gpus=2, fail="cuDevicePrimaryCtxRetain:0:802")
    assert failed(frames)[0] == ("context", 0, "fabric_not_ready")
    assert kind(frames, "matrix")
    assert libraries.left() == {}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"gpus": 0}, "no_device"),
        ({"fail": "cuInit:-1:804"}, "not_compatible"),
        ({"fail": "cuInit:-1:1"}, "driver_error"),
    ],
)
def test_no_gpu_to_measure(measured, settings, reason):
    frames = measured(**settings)
    assert [frame["frame"] for frame in frames] == ["hello", "failed", "freed", "end"]
    assert (frames[1]["reason"], frames[-1]["whole"]) == (reason, False)


def test_a_machine_without_the_driver(measured):
    frames = measured("cublas")
    assert [frame["reason"] for frame in frames if "reason" in frame] == ["no_library", "no_library"]
    assert frames[-1]["whole"] is False


def test_an_old_driver_measures_what_it_can_and_names_what_it_lacks(libraries, start):
    libraries.put("cuda", "nvml", old=True)
    frames = start(MEASURE, JOB, gpus=2).frames()
    machine = next(frame for frame in frames if frame["frame"] == "machine")
    assert "cuMemcpyPeerAsync" in machine["missing"]
    assert rates(frames, "host_to_device")
    assert rates(frames, "device_memory").keys() == {(0, 0, LARGEST, "copy_engine"), (1, 1, LARGEST, "copy_engine")}
    assert ("arithmetic", 0, "missing_symbol") in failed(frames)
    assert ("matrix", 0, "no_library") in failed(frames)
    assert ("both_ways", 0, "missing_symbol") in failed(frames)
    assert libraries.left() == {}


def test_no_kernel_for_bf16_before_its_compute_capability(measured):
    frames = measured("cuda", "nvml", gpus=1, capability=70)
    assert {(frame["dtype"], frame["path"]) for frame in kind(frames, "matrix")} == {("fp32", "ptx_fma")}


def test_no_measurement_where_somebody_computes(measured, start, libraries):
    frames = measured(gpus=2, busy=1)
    assert failed(frames) == [("", 1, "busy")]
    assert not [frame for frame in frames if frame["frame"] == "result"]
    assert start(MEASURE, {**JOB, "even_if_busy": True}, gpus=2, busy=1).frames()[-1]["whole"] is True
    assert libraries.left() == {}


def test_no_measurement_where_nobody_can_say_whether_somebody_computes(measured):
    frames = measured("cuda", gpus=1)
    assert [frame["frame"] for frame in frames] == ["hello", "without", "machine", "failed", "freed", "end"]
    assert frames[3]["reason"] == "maybe_busy"


def test_libraries_that_do_not_work_leave_the_rest(measured, libraries):
    frames = measured(gpus=2, no_cublas=1, no_nccl=1, no_peers=1)
    assert failed(frames) == [
        ("matrix", 0, "library_error"), ("matrix", 1, "library_error"), ("all_reduce", None, "library_error")
    ]  # fmt: skip
    pairs = [frame for frame in kind(frames, "bandwidth") if frame["path"] == "device_to_device"]
    assert {frame["p2p_enabled"] for frame in pairs} == {False}
    assert libraries.left() == {}


def test_libraries_are_found_in_the_wheels_of_python(libraries, start, tmp_path, monkeypatch):
    libraries.put(*ALL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    wheels = tmp_path / "site" / "nvidia"
    for name, folder in (("libcublas.so.12", "cublas"), ("libnccl.so.2", "nccl")):
        (wheels / folder / "lib").mkdir(parents=True)
        (libraries.folder / name).rename(wheels / folder / "lib" / name)
    frames = start(MEASURE, JOB, gpus=2).frames()
    assert failed(frames) == []
    assert {frame["library"] for frame in kind(frames, "collective")} == {str(wheels / "nccl" / "lib" / "libnccl.so.2")}


def begun(there):
    """Wait until something is measured."""
    while there.next()["frame"] != "result":
        pass


@pytest.mark.parametrize("how", ["signal", "closed"])
def test_told_to_stop_in_the_middle_it_frees_everything(libraries, start, how):
    libraries.put(*ALL)
    there = start(MEASURE, JOB, gpus=4, sleep_us=30_000)
    begun(there)
    assert libraries.left() != {}
    began = time.monotonic()
    if how == "signal":
        there.process.terminate()
    else:
        there.input.close()
    frames = there.frames()
    assert time.monotonic() - began < 2
    assert failed(frames) == [("", None, "stopped")]
    assert libraries.left() == {}


def test_a_driver_that_never_answers_does_not_keep_it(libraries, start):
    libraries.put(*ALL)
    there = start(MEASURE, JOB, gpus=1, hangs=1)
    while there.next()["frame"] != "measuring":
        pass
    began = time.monotonic()
    there.process.terminate()
    assert there.process.wait(3) == 0
    assert time.monotonic() - began < 2


def test_out_of_time_it_says_so_and_frees_everything(measured, libraries):
    frames = measured(job={**JOB, "limit_s": 0.3}, gpus=8, sleep_us=10_000)
    assert failed(frames) == [("", None, "out_of_time")]
    assert frames[-1]["whole"] is False
    assert libraries.left() == {}


def test_it_is_one_text_for_the_python_of_old_machines():
    text = bundle(*MEASURE.parts)
    ast.parse(text, feature_version=(3, 6))
    assert "gpuplanner.probe" not in text
    assert len(text) < 100_000


def test_no_part_of_it_takes_a_name_of_another():
    names = []
    for part in MEASURE.parts:
        for node in ast.parse(source_of(part)).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.append(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names += [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("part", MEASURE.parts)
def test_nothing_but_the_standard_library_is_imported(part):
    allowed = {"base64", "ctypes", "functools", "glob", "importlib", "itertools", "json", "mmap", "os", "platform",
               "random", "signal", "struct", "subprocess", "sys", "threading", "time", "typing",
               "gpuplanner"}  # fmt: skip
    tree = ast.parse(source_of(part))
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {name.split(".")[0] for name in names} <= allowed
