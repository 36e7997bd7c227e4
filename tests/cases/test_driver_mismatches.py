"""Public cases of drivers, CUDA and wheels that did not fit, by their ids, each as the text that a person pastes."""

import pytest

from gpuplanner.acceptance.compatibility import covers
from tests.acceptance.diagnosed import compatibility, diagnosed, said
from tests.acceptance.judged import ENGLISH


def environment(torch: str, cuda: str, gpu: str, driver: str) -> str:
    """What `python -m torch.utils.collect_env` prints."""
    return (
        f"PyTorch version: {torch}\nIs debug build: False\nCUDA used to build PyTorch: {cuda}\n"
        f"ROCM used to build PyTorch: N/A\n\nOS: Ubuntu 22.04.3 LTS (x86_64)\nPython version: 3.11 (64-bit runtime)\n"
        f"Is CUDA available: True\nGPU models and configuration: GPU 0: {gpu}\nNvidia driver version: {driver}\n"
        f"cuDNN version: Could not collect\n"
    )


def query(name: str, driver: str, capability: str) -> str:
    """What `nvidia-smi --query-gpu` prints of one GPU."""
    return f"index, name, driver_version, compute_cap\n0, {name}, {driver}, {capability}\n"


@pytest.mark.parametrize(
    ("case", "torch", "cuda", "driver"),
    [
        ("DRV01", "2.7.0.dev20250310+cu124", "12.4", "570.124.06"),
        ("DRV02", "2.5.1+cu121", "12.1", "590.48.01"),
    ],
)
def test_blackwell_needs_a_wheel_of_cuda_12_8_and_no_other_driver(case, torch, cuda, driver):
    gpu = "NVIDIA GeForce RTX 5090"
    found = diagnosed(environment(torch, cuda, gpu, driver), query(gpu, driver, "12.0"))
    assert next(iter(found)) == "no_code_for_gpu", case
    fix = ENGLISH.text(found["no_code_for_gpu"].fix)
    assert any(tag in fix for tag in ("cu128", "cu129", "cu130"))
    assert "driver_too_old" not in found
    good = environment("2.8.0+cu128", "12.8", gpu, driver)
    assert "no_code_for_gpu" not in diagnosed(good, query(gpu, driver, "12.0"))


@pytest.mark.parametrize("case", ["DRV01", "DRV02"])
def test_the_same_from_what_the_program_says(case):
    error = (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
        if case == "DRV01"
        else "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch "
        "installation.\n"
    )
    found = diagnosed(error, query("NVIDIA GeForce RTX 5090", "590.48.01", "12.0"))
    assert "driver is not at fault" in said(found["no_code_for_gpu"])
    assert "cu1" in ENGLISH.text(found["no_code_for_gpu"].fix)


def test_drv03_wheels_of_2_9_for_volta_and_for_pascal():
    """cu126 has both, cu128 has Volta alone, cu130 neither."""
    wheels = {wheel.tag: wheel for wheel in compatibility().wheels if wheel.torch == "2.9"}

    def runs(tag: str, capability: str) -> bool:
        wheel = wheels[tag]
        return covers(wheel.capabilities, capability, ptx=wheel.ptx, cuda=wheel.cuda)

    assert [runs(tag, "7.0") for tag in ("cu126", "cu128", "cu130")] == [True, True, False]
    assert [runs(tag, "6.1") for tag in ("cu126", "cu128", "cu130")] == [True, False, False]
    gpu = "Tesla V100-SXM2-16GB"
    found = diagnosed(environment("2.9.0+cu130", "13.0", gpu, "580.95.05"), query(gpu, "580.95.05", "7.0"))
    assert "cu126" in ENGLISH.text(found["no_code_for_gpu"].fix)


def test_drv04_a_server_built_with_cuda_13_has_no_code_for_a_v100():
    gpu = "Tesla V100-SXM2-32GB"
    found = diagnosed(
        environment("2.10.0+cu130", "13.0", gpu, "580.95.05") + "vLLM Version: 0.17.0\n",
        query(gpu, "580.95.05", "7.0"),
    )
    assert next(iter(found)) == "no_code_for_gpu"
    assert "7.0" in said(found["no_code_for_gpu"])


def test_drv05_cuda_12_1_on_a_driver_of_11_0():
    """The least driver is 525.60, by minor-version compatibility."""
    gpu = "NVIDIA A100-SXM4-40GB"
    found = diagnosed(environment("2.1.0+cu121", "12.1", gpu, "450.80.02"), query(gpu, "450.80.02", "8.0"))
    assert next(iter(found)) == "driver_too_old"
    assert "525.60" in said(found["driver_too_old"])
    text = "The NVIDIA driver on your system is too old (found version 11000). Please update your GPU driver\n"
    assert "11000" in said(diagnosed(text)["driver_too_old"])


def test_drv06_a_driver_that_cannot_change_gets_a_wheel():
    gpu = "NVIDIA GeForce RTX 3090"
    found = diagnosed(environment("2.3.0+cu121", "12.1", gpu, "470.82.01"), query(gpu, "470.82.01", "8.6"))
    fix = ENGLISH.text(found["driver_too_old"].fix)
    assert "cu118" in fix or "cu117" in fix


def test_drv07_error_804_is_explained_by_the_kind_of_gpu():
    error = "RuntimeError: Error 804: forward compatibility was attempted on non supported HW\n"
    found = diagnosed(error, query("NVIDIA GeForce RTX 4090", "535.129.03", "8.9"))
    assert next(iter(found)) == "forward_compatibility"
    assert "servers only" in said(found["forward_compatibility"])
    assert "cuda-compat" in ENGLISH.text(found["forward_compatibility"].fix)
    server = diagnosed(error, query("NVIDIA A100-SXM4-80GB", "535.129.03", "8.0"))
    assert "servers only" not in said(server["forward_compatibility"])


def test_drv09_a_driver_of_cuda_10_1_does_not_run_a_newer_wheel():
    text = "The NVIDIA driver on your system is too old (found version 10010). Please update your GPU driver\n"
    found = diagnosed(text, query("Tesla T4", "418.67", "7.5"))
    assert next(iter(found)) == "driver_too_old"
    assert "10010" in said(found["driver_too_old"])
    assert ENGLISH.text(found["driver_too_old"].fix)


def test_drv10_a_system_that_is_not_yet_initialised_lacks_its_fabric_manager():
    text = "Couldn't init CUDA: system not yet initialized\n"
    found = diagnosed(text, "Id=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=inactive\n")
    assert "fabric_not_ready" in found
    assert "Fabric Manager" in ENGLISH.text(found["fabric_not_ready"].fix)
    assert not diagnosed(query("NVIDIA H100 80GB HBM3", "550.54.15", "9.0"))
