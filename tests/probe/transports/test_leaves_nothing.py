"""What a machine is after we were there: as it was before, in its files and in its processes. And here as well."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from gpuplanner.messages import InputError
from gpuplanner.probe.commands import READ_ONLY, Command, Topic
from gpuplanner.probe.connecting import ConnectionTest
from gpuplanner.probe.running import Collected, probe
from gpuplanner.probe.transports import askpass, ssh_client
from gpuplanner.probe.transports.programs import SAMPLE
from gpuplanner.probe.transports.ssh import SshTransport
from gpuplanner.probe.transports.ssh_client import Sockets
from tests.probe import sshd
from tests.probe.replaying import own_client
from tests.probe.sshd import Keys, Server

MARK = "LEFT_HERE=613"
TIER_A = tuple(command for command in READ_ONLY if command.id != "stat")
"""Without the one that takes three seconds."""
HANGS = Command("hangs", Topic.HOST, ("sh", "-c", "sleep 300 & sleep 300"), limit_s=300)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    sshd.needed()
    if not sshd.namespace_possible():
        pytest.skip("folders of a machine's own need root and a mount namespace")
    return Keys(tmp_path_factory.mktemp("keys"))


def started(folder, keys, kept, path="/usr/bin:/bin"):
    server = Server(folder, keys, {"SetEnv": f"PATH={path} {MARK} PYTHONPATH={folder / 'home' / 'lib'}"}, keeping=kept)
    library = folder / "home" / "lib"
    library.mkdir(parents=True)
    # A library of Python that was never compiled, in a place where whoever imports it may keep it compiled.
    for module in ("glob", "platform", "base64", "threading"):
        shutil.copy(Path(getattr(sys.modules[module], "__file__", "")), library)
    (folder / "home" / ".ssh").mkdir()
    return server.start()


@pytest.fixture(scope="module")
def server(tmp_path_factory, keys):
    made = started(tmp_path_factory.mktemp("server") / "s", keys, tmp_path_factory.getbasetemp())
    yield made
    made.stop()


@pytest.fixture
def short(monkeypatch):
    """Where what is needed here for a while lies."""
    folder = Path(tempfile.mkdtemp(prefix="gps-"))
    for module in (askpass, ssh_client):
        monkeypatch.setattr(module, "SHORT_TEMPORARY", str(folder))
    yield folder
    shutil.rmtree(folder)


def left():
    """Processes that carry the mark of sessions there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if MARK.encode() in path.read_bytes():
                found.append(path.with_name("cmdline").read_bytes())
    return found


def none_left(within_s=3.0):
    end = time.monotonic() + within_s
    while left() and time.monotonic() < end:
        time.sleep(0.05)
    return left() == []


def nothing(_told):
    """Hears what is not looked at."""


async def nobody(_question):
    return None


async def connection_test(transport, _server):
    assert await ConnectionTest("node", nothing).run(nobody, transport.sockets, transport.extra)


async def tier_a(transport, _server):
    assert (await probe(transport, TIER_A, nothing, Collected("node", TIER_A))).whole


async def watching(transport, _server):
    frames: list[object] = []
    assert await transport.run(SAMPLE, {"interval_s": 0.1, "seconds": 0.5}, nothing, frames.append)
    assert frames


async def begun(transport):
    commands = (HANGS, *TIER_A[:5])
    work = asyncio.ensure_future(probe(transport, commands, nothing, Collected("node", commands)))
    while not any(b"sleep\x00300" in words for words in left()):
        assert not work.done()
        await asyncio.sleep(0.02)
    return work


async def cancelled(transport, _server):
    work = await begun(transport)
    work.cancel()
    began = time.monotonic()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    assert none_left(2.0 - (time.monotonic() - began))


async def dropped(transport, server):
    work = await begun(transport)
    server.end_sessions()
    assert not (await work).whole


@pytest.mark.parametrize("errand", [connection_test, tier_a, watching, cancelled, dropped])
@pytest.mark.parametrize("reused", [False, True])
def test_neither_a_file_nor_a_process_is_left(server, short, errand, reused):
    before = server.seen()
    assert left() == []
    sockets = Sockets() if reused else None
    try:
        asyncio.run(errand(SshTransport("node", nobody, sockets, server.client()), server))
    finally:
        if sockets:
            sockets.close()
    assert none_left()
    assert server.seen() == before
    assert list(short.iterdir()) == []


def test_a_connection_that_was_kept_ends_when_it_is_no_longer_wanted(server, short):
    sockets = Sockets()
    asyncio.run(tier_a(SshTransport("node", sockets=sockets, extra=server.client()), server))
    assert len(kept(sockets)) == 1
    sockets.close()
    end = time.monotonic() + 3
    while kept(sockets) and time.monotonic() < end:
        time.sleep(0.02)
    assert kept(sockets) == []


def kept(sockets):
    """The processes here that hold a connection for later."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(sockets.folder).encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


def test_the_shell_alone_leaves_nothing_either(keys, tmp_path, short):
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "head", "sleep", "date", "uname", "id", "cat", "ls"):
        (tools / tool).symlink_to(next(at for base in ("/bin", "/usr/bin") if (at := Path(base) / tool).exists()))
    # Down to the folder that all tests of a run share.
    server = started(tmp_path / "s", keys, tmp_path.parent, str(tools))
    try:
        for errand in (tier_a, cancelled, dropped):
            before = server.seen()
            asyncio.run(errand(SshTransport("node", nobody, None, server.client()), server))
            assert none_left()
            assert server.seen() == before
    finally:
        server.stop()


def test_what_runs_there_ends_when_the_client_is_killed(server, tmp_path, short):
    """One remote process for all samples; it goes by itself when nobody can say goodbye any more."""
    folder = own_client(tmp_path / "client", server.client())
    before = server.seen()
    with subprocess.Popen(
        [sys.executable, "-m", "gpuplanner", "watch", "node", "--interval", "0.1", "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
    ) as client:  # fmt: skip
        assert client.stdout is not None
        for _ in range(3):
            client.stdout.readline()
        assert len([words for words in left() if words.startswith(b"python3")]) == 1
        client.send_signal(signal.SIGKILL)
        client.wait(5)
    assert none_left(5.0)
    assert server.seen() == before


def test_a_host_that_refuses_leaves_nothing_here(short):
    sockets = Sockets()
    try:
        with pytest.raises(InputError):
            asyncio.run(tier_a(SshTransport("127.0.0.1", nobody, sockets, ("-F", "none", "-p", "1")), None))
    finally:
        sockets.close()
    assert list(short.iterdir()) == []
