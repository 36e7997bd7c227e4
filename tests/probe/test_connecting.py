"""The connection test against a real server, and where there is none."""

import asyncio

import pytest

from gpuplanner.probe.connecting import STEPS, ConnectionTest, Step, StepState
from tests.probe import sshd
from tests.probe.sshd import Keys, Server


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    sshd.needed()
    return Keys(tmp_path_factory.mktemp("keys"))


def started(tmp_path, keys, smi):
    tools = tmp_path / "tools"
    tools.mkdir()
    if smi:
        (tools / "nvidia-smi").write_text(f"#!/bin/sh\n{smi}\n", encoding="utf-8")
        (tools / "nvidia-smi").chmod(0o755)
    return Server(tmp_path / "server", keys, tools=tools).start()


def tried(target, *extra):
    told: list[StepState] = []
    test = ConnectionTest(target, told.append)
    usable = asyncio.run(test.run(extra=extra))
    return usable, test.states, told


GPUS = 'for i in 0 1 2; do echo "GPU $i: NVIDIA L40S (UUID: GPU-$i)"; done'
LOST = "echo 'Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.'; exit 15"


@pytest.mark.parametrize(
    ("smi", "state", "detail", "why"),
    [
        (GPUS, "done", "3", None),
        (LOST, "failed", "Unable to determine", "probe.connect.driver_says"),
        ("", "cannot tell", "", "probe.connect.no_driver"),
    ],
)
def test_every_step_is_told(tmp_path, keys, smi, state, detail, why):
    server = started(tmp_path, keys, smi)
    try:
        usable, states, told = tried("node", *server.client())
    finally:
        server.stop()
    assert usable
    assert [states[step].state for step in STEPS[:-1]] == ["done"] * 5
    assert "127.0.0.1" in states[Step.NAME].detail
    assert "SHA256:" in states[Step.HOST_KEY].detail
    assert states[Step.LOGIN].detail == "publickey"
    driver = states[Step.DRIVER]
    assert (driver.state, driver.why.id if driver.why else None) == (state, why)
    assert driver.detail.startswith(detail)
    assert [each.step for each in told if each.state == "done"] == [s for s in STEPS if states[s].state == "done"]


def test_the_step_that_fails_says_why(tmp_path, keys):
    usable, states, _ = tried("127.0.0.1", "-F", "none", "-p", "1")
    assert not usable
    assert states[Step.NAME].state == "done"
    assert states[Step.PORT].why.id == "probe.ssh.refused"
    assert [states[step].state for step in STEPS[2:]] == ["waiting"] * 4


def test_a_name_that_leads_nowhere(tmp_path, keys):
    usable, states, _ = tried("no-such-host.invalid", "-F", "none")
    assert not usable
    assert states[Step.NAME].why.id == "probe.ssh.no_such_name"


def test_a_login_that_is_refused(tmp_path, keys):
    server = started(tmp_path, keys, GPUS)
    try:
        usable, states, _ = tried("node", *server.client(IdentityFile="none"))
    finally:
        server.stop()
    assert not usable
    assert states[Step.HOST_KEY].state == "done"
    assert (states[Step.LOGIN].state, states[Step.LOGIN].why.id) == ("failed", "probe.ssh.denied")
