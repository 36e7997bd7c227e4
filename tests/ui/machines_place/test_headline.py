"""The verdict in words: nobody is told that a machine is well, or as quoted, of whose GPUs nothing was read."""

import pytest

from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.machines.evidence import of_text
from gpuplanner.machines.expecting import expected
from gpuplanner.machines.judging import judge
from gpuplanner.ui.machines_place.headline import headline, speaks_of_gpus
from gpuplanner.workspace import Workspace

GPUS = "GPU 0: NVIDIA L40S (UUID: GPU-0)\n"
DISK = (
    "Filesystem     1K-blocks     Used Available Use% Mounted on\n/dev/nvme0n1p1 950000000 50000000 900000000   6% /\n"
)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    workspace = Workspace(tmp_path_factory.mktemp("home"))

    def of(text: str, wanted: str = ""):
        promised = expected(wanted, workspace) if wanted else None
        return judge(workspace, of_text(text, "pasted"), promised)

    yield of
    workspace.store.close()


def test_gpus_that_answer_are_well(judged):
    found = judged(GPUS)
    assert speaks_of_gpus(found)
    assert headline(found).id == f"machinesui.verdict.healthy.{found.verdict.value}"


@pytest.mark.parametrize(
    ("wanted", "verdict", "said"),
    [
        ("", Verdict.CANNOT_TELL, "machinesui.verdict.healthy.cannot_tell"),
        ("8x H100 SXM5 80GB", Verdict.CANNOT_TELL, "machinesui.verdict.quoted.cannot_tell"),
    ],
)
def test_a_disk_alone_says_nothing_of_gpus(judged, wanted, verdict, said):
    found = judged(DISK, wanted)
    assert not speaks_of_gpus(found)
    assert (found.verdict, headline(found).id) == (verdict, said)


def test_a_failure_is_one_whatever_else_was_read(judged):
    found = judged(GPUS, "8x H100 SXM5 80GB")
    assert headline(found).id == "machinesui.verdict.quoted.fail"
