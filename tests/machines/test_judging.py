"""A machine is judged as it was when it was asked, whatever day it is here."""

from datetime import UTC, datetime

import pytest

from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.machines.evidence import MachineEvidence, of_run, of_text
from gpuplanner.machines.judging import judge
from gpuplanner.probe.results import CommandResult, Run
from gpuplanner.workspace import Workspace

HEAD = "==============NVSMI LOG==============\n\n"
TIMESTAMP = "Timestamp                                 : {}\n"
GPU = (
    "Driver Version                            : 550.54.15\n"
    "Attached GPUs                             : 1\n"
    "GPU 00000000:06:00.0\n"
    "    Product Name                          : NVIDIA A40-8Q\n"
    "    GPU Virtualization Mode\n"
    "        Virtualization Mode               : VGPU\n"
    "    vGPU Software Licensed Product\n"
    "        Product Name                      : NVIDIA RTX Virtual Workstation\n"
    "        License Status                    : Licensed (Expiry: 2024-4-1 6:57:30 GMT)\n"
)
XML = (
    '<?xml version="1.0" ?>\n<nvidia_smi_log>\n<timestamp>{}</timestamp>\n<attached_gpus>1</attached_gpus>\n'
    '<gpu id="00000000:06:00.0"><product_name>NVIDIA A40-8Q</product_name>\n<vgpu_software_licensed_product>'
    "<license_status>Licensed (Expiry: 2024-4-1 6:57:30 GMT)</license_status></vgpu_software_licensed_product>\n"
    "</gpu></nvidia_smi_log>\n"
)
BEFORE, AFTER = "Fri Mar  1 10:31:52 2024", "Tue Apr  2 10:31:52 2024"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("home"))


def run_of(text: str, moment: datetime) -> MachineEvidence:
    began = moment.timestamp()
    result = CommandResult("smi", ("nvidia-smi", "-q"), 0, "ended", text.encode(), b"", 0.1, began)
    return of_run(Run("node1", began, (result,)))


@pytest.mark.parametrize(
    ("machine", "verdict"),
    [
        (of_text(HEAD + TIMESTAMP.format(BEFORE) + GPU, "pasted"), Verdict.PASS),
        (of_text(HEAD + TIMESTAMP.format(AFTER) + GPU, "pasted"), Verdict.FAIL),
        (of_text(HEAD + GPU, "pasted"), Verdict.CANNOT_TELL),
        (of_text(HEAD + TIMESTAMP.format("heute") + GPU, "pasted"), Verdict.CANNOT_TELL),
        (of_text(XML.format(BEFORE), "pasted"), Verdict.PASS),
        (of_text(XML.format(AFTER), "pasted"), Verdict.FAIL),
        (run_of(HEAD + GPU, datetime(2024, 3, 1, tzinfo=UTC)), Verdict.PASS),
        (run_of(HEAD + GPU, datetime.now(UTC)), Verdict.FAIL),
    ],
)
def test_a_licence_runs_out_on_the_day_of_the_text(workspace, machine, verdict):
    found = {result.id: result.judgement.verdict for result in judge(workspace, machine, None).results}
    assert found["virt.licence"] is verdict


def test_a_time_that_no_calendar_has_is_no_day(workspace):
    machine = of_run(Run("node1", 1e300, ()))
    assert machine.asked_on is None
    assert judge(workspace, machine, None).results
