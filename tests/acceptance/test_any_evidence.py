"""Whatever was read, also out of broken recordings: no check raises, and all that it says can be said."""

from pathlib import Path

import pytest

from gpuplanner.acceptance.checking import accept
from gpuplanner.acceptance.checks import checks
from gpuplanner.acceptance.differences import differences
from gpuplanner.acceptance.promised import NOTHING
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.merging import merged
from gpuplanner.probe.saved import outputs_of
from tests.acceptance.judged import CHINESE, COMPATIBILITY, ENGLISH, H100, RULES, promising

DATA = Path(__file__).resolve().parents[1] / "data" / "probe"
TOOLS = sorted(folder.name for folder in DATA.iterdir() if folder.is_dir())
FULL = promising(
    H100, gpu_count=8, gpu_fraction=1.0, cpus=192, ram_bytes=2e12, disk_bytes_per_s=1e9, network_bit_per_s=3200e9,
    adapters=32, adapter_kind="EFA", nodes=2, virtualization="bare metal", mig=False, training=True,
)  # fmt: skip


@pytest.fixture(scope="module")
def everything():
    parts = {
        tool: merged(
            [inspect(output).evidence for path in sorted((DATA / tool).iterdir()) for output in outputs_of(path)]
        )
        for tool in TOOLS
    }
    return parts | {"all together": merged(list(parts.values())), "nothing": Evidence()}


@pytest.mark.parametrize("promised", [NOTHING, FULL], ids=["nothing promised", "all promised"])
@pytest.mark.parametrize("tool", [*TOOLS, "all together", "nothing"])
def test_every_check_speaks(everything, tool, promised):
    found = accept(everything[tool], checks(), RULES, promised, root=False, compatibility=COMPATIBILITY)
    for result in found.results:
        judgement = result.judgement
        for message in (judgement.reason, judgement.expected, judgement.measured, judgement.do, judgement.ask):
            if message is not None:
                assert ENGLISH.text(message).isprintable()
                assert CHINESE.text(message).isprintable()
    assert {result.id for result in found.results} >= {"gpu.count", "gpu.state", "xid", "ram"}


def test_nothing_read_passes_nothing(everything):
    found = accept(everything["nothing"], checks(), RULES, FULL, compatibility=COMPATIBILITY)
    assert {result.judgement.verdict.value for result in found.results} <= {"cannot tell", "skipped"}
    assert found.verdict.value == "cannot tell"


def test_a_machine_does_not_differ_from_itself(everything):
    assert differences(everything["nvidia-smi-q"], everything["nvidia-smi-q"]) == ()
