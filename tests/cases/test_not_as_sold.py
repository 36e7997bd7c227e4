"""Public cases of rented machines that were not what was sold, by their ids: the text, and the cause that we name."""

import pytest

from gpuplanner.acceptance.diagnosis import Certainty
from gpuplanner.acceptance.promising import of_gpus
from gpuplanner.catalog.names.resolution import Resolution
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Sample
from gpuplanner.workspace import Workspace
from tests.acceptance.diagnosed import diagnosed, of_texts, said, vllm_begins
from tests.acceptance.judged import ENGLISH, seen


def query(**columns: str) -> str:
    """What `nvidia-smi --query-gpu` prints of one GPU; a double underscore is a dot."""
    return f"{', '.join(name.replace('__', '.') for name in columns)}\n{', '.join(columns.values())}\n"


def xids(*codes: tuple[int, str]) -> str:
    return "".join(
        f"[{1000 + at}.000000] NVRM: Xid (PCI:0000:c1:00): {code}, pid=100, name=python3, {words}\n"
        for at, (code, words) in enumerate(codes)
    )


def test_cld01_a_vgpu_is_named_with_what_depends_on_its_profile():
    found = diagnosed(query(index="0", name="GRID A100-40C", driver_version="550.127.05", memory__total="40960 MiB"))
    assert next(iter(found)) == "vgpu"
    assert "unified memory" in said(found["vgpu"])
    assert found["vgpu"].ask is not None


def test_cld02_values_that_the_driver_does_not_have_are_no_fault_and_no_zero():
    text = query(
        index="0", name="GRID A100-40C", temperature__gpu="[Not Supported]", power__draw="[N/A]",
        ecc__errors__uncorrected__volatile__total="[Not Supported]", pcie__link__width__current="[Not Supported]",
        pcie__link__width__max="16",
    )  # fmt: skip
    gpu = of_texts(text).gpus[0]
    assert gpu.temperature_c is gpu.power_draw_w is gpu.pcie_width_current is None
    assert set(diagnosed(text)) == {"vgpu"}


def test_cld04_a_platform_that_caps_the_draw_at_60_percent():
    found = diagnosed(
        query(index="0", name="NVIDIA A100-SXM4-40GB", utilization__gpu="100 %", power__draw="240.0 W",
              power__limit="400.0 W", power__default_limit="400.0 W",
              clocks_throttle_reasons__active="0x0000000000000004")
    )  # fmt: skip
    assert next(iter(found)) == "power_capped"
    assert "240 W" in said(found["power_capped"])
    assert "400 W" in said(found["power_capped"])
    full = query(index="0", name="NVIDIA A100-SXM4-40GB", utilization__gpu="100 %", power__draw="398.0 W",
                 power__limit="400.0 W", power__default_limit="400.0 W",
                 clocks_throttle_reasons__active="0x0000000000000004")  # fmt: skip
    assert not diagnosed(full)


def test_cld05_a_card_that_falls_to_375_mhz_at_work():
    def watched(*clocks: int) -> str:
        return (
            "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk \n"
            "# Idx      W      C      C      %      %      %      %    MHz    MHz \n"
        ) + "".join(f"    0    100     93      -     99     40      0      0   7000   {clock} \n" for clock in clocks)

    card = query(index="0", name="NVIDIA RTX A4000", clocks__max__sm="2100 MHz", power__limit="100.00 W")
    found = diagnosed(watched(375, 628, 510, 402), card)
    assert "456 MHz" in said(found["low_clocks"])
    assert "low_clocks" not in diagnosed(watched(2010, 1995, 1980, 2000), card)


def test_cld06_a_lowered_power_limit_costs_clocks_and_not_memory():
    found = diagnosed(
        query(index="0", name="NVIDIA GeForce RTX 3090", power__limit="315.00 W", power__default_limit="350.00 W",
              power__draw="314.0 W", utilization__gpu="100 %", clocks__sm="1510 MHz", clocks__mem="9501 MHz",
              clocks__max__sm="2100 MHz", clocks_throttle_reasons__active="0x0000000000000004")
    )  # fmt: skip
    assert list(found) == ["power_lowered"]
    assert "memory bandwidth stays" in said(found["power_lowered"])


@pytest.mark.parametrize("case", ["CLD07", "CLD08"])
def test_mig_is_told_with_its_slices(case):
    memory = "40960 MiB" if case == "CLD07" else "81920 MiB"
    listing = (
        "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-0000-0000-0000-000000000000)\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-00000000-0000-0000-0000-000000000001)\n"
        "  MIG 3g.40gb     Device  1: (UUID: MIG-00000000-0000-0000-0000-000000000002)\n"
    )
    text = query(index="0", name="NVIDIA A100-SXM4-80GB", mig__mode__current="Enabled", memory__total=memory)
    found = diagnosed(text, listing)
    assert next(iter(found)) == "mig"
    assert "3g.40gb" in said(found["mig"])
    assert "mig" not in diagnosed(text.replace("Enabled", "Disabled"))


def test_cld09_a_model_is_not_split_over_slices():
    text = query(index="0", name="NVIDIA H100 80GB HBM3", mig__mode__current="Enabled")
    assert "split_over_slices" in diagnosed(text, vllm_begins(2))
    assert "split_over_slices" not in diagnosed(text, vllm_begins(1))


def test_cld10_hangs_were_failing_memory_of_one_gpu():
    rows = "index, name, remapped_rows.uncorrectable\n" + "".join(
        f"{at}, NVIDIA A100 80GB PCIe, {12 if at == 2 else 0}\n" for at in range(4)
    )
    log = xids((48, "DBE"), (171, "x"), (63, "Row Remapper: New row"), (94, "Contained"), (154, "GPU recovery action"))
    found = diagnosed(rows, log)
    assert next(iter(found)) == "memory_fails"
    assert "GPU 2" in said(found["memory_fails"])
    assert "replaced" in ENGLISH.text(found["memory_fails"].fix)
    assert found["memory_fails"].ask is not None


def test_cld11_xid_64_takes_the_gpu_out_and_does_not_reset_it():
    found = diagnosed(xids((64, "Row Remapper: Failed to remap")))
    assert next(iter(found)) == "memory_fails"
    fix = ENGLISH.text(found["memory_fails"].fix)
    assert "out of service" in fix
    assert "restart is better than a reset" in fix
    assert "out of service" not in ENGLISH.text(diagnosed(xids((48, "DBE")))["memory_fails"].fix)


def test_cld12_fabric_manager_of_another_version_by_its_own_words():
    journal = (
        "Jan 01 10:00:00 node nv-fabricmanager[900]: fabric manager NVIDIA GPU driver interface version 535.183.01 "
        "don't match with driver version 535.161.08. Please update with matching NVIDIA driver package.\n"
    )
    found = diagnosed(journal)
    assert next(iter(found)) == "fabric_version"
    assert "535.183.01" in said(found["fabric_version"])
    assert "535.161.08" in said(found["fabric_version"])


def test_cld13_a_fabric_that_never_completes():
    gpu = Gpu(index=0, vendor="nvidia", **seen({"name": "NVIDIA H200", "fabric_state": "In Progress"}))
    found = diagnosed(evidence=Evidence(gpus=(gpu,)))
    assert next(iter(found)) == "fabric_state"
    done = gpu.model_copy(update={"fabric_state": "Completed", "fabric_status": "Success"})
    assert "fabric_state" not in diagnosed(evidence=Evidence(gpus=(done,)))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("case", ["CLD14", "CLD15"])
def test_the_variants_of_an_h100_are_three_gpus(case, workspace):
    names = ("H100 SXM5 80GB", "H100 NVL", "H100 PCIe")
    found: list[Resolution] = [workspace.resolve(name, "gpu") for name in names]
    assert len({each.id for each in found}) == 3
    if case == "CLD14":
        text = query(index="0", name="NVIDIA H100 PCIe", memory__total="81559 MiB")
        gpus = workspace.catalog.gpus
        assert "card_for_module" in diagnosed(text, promised=of_gpus(gpus[found[0].id or ""], 1))
        assert "card_for_module" not in diagnosed(text, promised=of_gpus(gpus[found[2].id or ""], 1))


def test_cld18_errors_that_were_not_corrected_are_told():
    found = diagnosed(query(index="0", name="NVIDIA L40S", ecc__errors__uncorrected__volatile__total="105"))
    assert next(iter(found)) == "memory_fails"
    assert found["memory_fails"].certainty is Certainty.SHOWN


def test_what_a_healthy_machine_prints_has_no_cause():
    sample = Sample(gpu_index=0, **seen({"utilization_percent": 97.0, "power_w": 640.0, "memory_percent": 60.0}))
    gpu = Gpu(index=0, vendor="nvidia", **seen({"name": "NVIDIA H100 80GB HBM3", "power_limit_w": 700.0}))
    assert not diagnosed(evidence=Evidence(gpus=(gpu,), samples=(sample,) * 8))
