"""Recorded machines: the verdicts that a careful engineer gave after reading the raw output."""

from pathlib import Path

import pytest

from gpuplanner.acceptance.checking import accept
from gpuplanner.acceptance.checks import checks
from gpuplanner.acceptance.promising import of_itself
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.merging import merged
from gpuplanner.probe.saved import outputs_of
from gpuplanner.workspace import Workspace
from tests.acceptance.judged import COMPATIBILITY, RULES

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
SMI = "nvidia-smi-q/nvidia-{}_linux-x86_64_idle.txt"

SEEN = {
    SMI.format("h200_590.48.01"): {"overall": "pass", "pcie.gen": "pass", "fabric.state": "pass", "mem.remap": "pass"},
    SMI.format("l40s_595.80"): {"pcie.gen": "pass", "persist": "warn", "ecc.volatile": "pass", "throttle": "pass"},
    SMI.format("h100-mig_590.48.01"): {"mig": "warn", "nvlink.lanes": "cannot tell", "pcie.gen": "pass"},
    "nvidia-smi-q/ml-engineering-debug.txt": {"mem.remap": "warn", "ecc.volatile": "pass"},
    "nvidia-smi-q/vgpu-unlicensed-old.txt": {"virt.licence": "fail", "virt.mode": "warn"},
    "nvidia-smi-q/nvidia-smi-query.535.161.08.out.0.valid.txt": {"throttle": "fail", "pcie.replay": "warn"},
    "nvidia-smi-nvlink/azure-bad_nvlink_status.txt": {"nvlink.lanes": "fail"},
    "nvidia-smi-nvlink/azure-good_nvlink_status.txt": {"nvlink.lanes": "pass", "nvlink.speed": "pass"},
    "nvidia-smi-nvlink/nvidia-h100-mig_590.48.01_linux-x86_64_capabilities.txt": {"nvlink.lanes": "cannot tell"},
    "nvidia-smi-topo/dgx-a100-nv12-excerpt.txt": {"topo": "cannot tell"},
    "nvidia-smi-topo/deepep-8gpu-all-sys-excerpt.txt": {"topo": "warn", "overall": "warn"},
    "nvidia-smi-topo/empovit-topo-p2p.log": {"p2p": "cannot tell"},
    "nvidia-smi-topo/empovit-topo-m.log": {"topo": "pass"},
    "nvidia-smi-topo/2x5090-p2p-gns.txt": {"p2p": "warn"},
    "errors/gpu-lost.txt": {"gpu.state": "fail", "overall": "fail"},
    "errors/mismatch-580.txt": {"gpu.state": "fail", "drv.match": "fail"},
    "errors/driver-insufficient.txt": {"drv.branch": "fail"},
    "errors/no-devices.txt": {"gpu.state": "fail"},
    "nvidia-smi-xml/tesla_p4.xml": {"virt.mode": "warn"},
    "nvidia-smi-xml/dual_2080-v13.xml": {"pcie.width": "fail", "pcie.gen": "pass"},
    "nvidia-smi-xml/rtx-4090-driver-535.xml": {"pcie.gen": "warn"},
    "nvidia-smi/H100SXMx8_smi.txt": {"overall": "pass", "power.limit": "pass"},
    "nvidia-smi/nb-A100_SXM_4_v3.txt": {"overall": "pass", "ecc.volatile": "pass"},
    "fabricmanager-log/fabricmanager.log": {"sxid": "warn"},
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the recordings lie beside the checkout and are not there")
@pytest.mark.parametrize("name", SEEN)
def test_a_recorded_machine(workspace, name):
    evidence = merged([inspect(output).evidence for output in outputs_of(CORPUS / name)])
    usual = of_itself(evidence, workspace.catalog.gpus, lambda called, memory: workspace.resolve(called, "gpu", memory))
    found = accept(evidence, checks(), RULES, usual, compatibility=COMPATIBILITY)
    told = {result.id: result.judgement.verdict.value for result in found.results} | {"overall": found.verdict.value}
    assert {id_: told.get(id_) for id_ in SEEN[name]} == SEEN[name]
