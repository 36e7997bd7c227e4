"""The recorded machine that is shipped is whole, marked as a recording, and shows the faults that it is there for."""

import pytest

from gpuplanner.acceptance.checking import Acceptance
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.machines.causes import find
from gpuplanner.machines.difference_words import rows_within
from gpuplanner.machines.evidence import MachineEvidence, of_run
from gpuplanner.machines.expecting import expected
from gpuplanner.machines.judging import judge
from gpuplanner.machines.low_utilization import Cause, explain
from gpuplanner.machines.sample import QUOTED, sample_run, sample_session
from gpuplanner.messages import Language, Translator
from gpuplanner.workspace import Workspace


@pytest.fixture(scope="module")
def machine() -> MachineEvidence:
    return of_run(sample_run())


@pytest.fixture(scope="module")
def judged(machine: MachineEvidence, tmp_path_factory: pytest.TempPathFactory) -> Acceptance:
    workspace = Workspace(tmp_path_factory.mktemp("home"))
    return judge(workspace, machine, expected(QUOTED, workspace))


def test_it_is_a_whole_recording_of_eight_gpus(machine: MachineEvidence) -> None:
    (run,) = machine.runs
    assert run.recorded
    assert run.whole
    assert len(machine.evidence.gpus) == 8
    unread = [each.output.name for each in machine.inspections if each.tool is None]
    assert set(unread) <= {"cat /proc/self/cgroup", "cat /proc/cmdline", "uname -a"}


def test_it_is_not_what_was_quoted_for_it(judged: Acceptance) -> None:
    assert judged.verdict is Verdict.FAIL
    by_verdict = {
        verdict: {result.id for result in judged.results if result.judgement.verdict is verdict} for verdict in Verdict
    }
    assert {"pcie.width", "bw.h2d", "power.limit", "allreduce", "cpu.count"} <= by_verdict[Verdict.FAIL]
    assert "flops" in by_verdict[Verdict.WARN]
    assert {"gpu.count", "gpu.model", "nvlink.lanes", "ram", "net.link"} <= by_verdict[Verdict.PASS]
    assert "xid" in by_verdict[Verdict.CANNOT_TELL]


def test_its_cause_is_named_and_its_odd_gpu_found(machine: MachineEvidence, judged: Acceptance) -> None:
    first = find(machine.evidence, judged)[0]
    assert "GPU 5 sits on a ×8 link" in Translator(Language.ENGLISH).text(first.cause)
    odd = {Translator(Language.ENGLISH).text(row.where) for row in rows_within(machine.evidence) if row.worse}
    assert "GPU 5" in odd


def test_it_was_watched_live_and_what_keeps_it_waiting_is_told() -> None:
    session = sample_session()
    assert len(session.gpus) == 8
    assert session.telemetry.ended_s == 119.0
    told = explain(session.telemetry, (86.0, 93.0))
    assert told.low
    assert told.cause is Cause.CPU_LIMIT
    assert told.utilization_percent is not None
    assert 65 < told.utilization_percent < 80
    assert any(sign.id == "live.sign.dips" for sign in told.signs)
