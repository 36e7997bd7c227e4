"""A machine over a real OpenSSH client and a real OpenSSH server."""

import asyncio
import contextlib
import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gpuplanner.messages import InputError, Message, msg
from gpuplanner.probe.commands import Command, Topic
from gpuplanner.probe.running import Collected, probe
from gpuplanner.probe.transports import Began, Ended, Event, Hello, Lost, ssh, ssh_client
from gpuplanner.probe.transports.askpass import Asked, AskServer, Question
from gpuplanner.probe.transports.ssh import SshTransport
from gpuplanner.probe.transports.ssh_client import Sockets
from tests.probe import sshd
from tests.probe.sshd import PASSWORD, Keys, Server
from tests.probe.test_collect import gone

ECHO = Command("echo", Topic.HOST, ("echo", "it's", "$HOME", "a  b"))
SMI = Command("smi", Topic.GPUS, ("nvidia-smi", "-L"))
ABSENT = Command("absent", Topic.GPUS, ("no-such-tool-here",))


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    sshd.needed()
    return Keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def start(tmp_path, keys):
    with contextlib.ExitStack() as stack:

        def make(name="server", **settings):
            server = Server(tmp_path / name, keys, **settings).start()
            stack.callback(server.stop)
            return server

        yield make


@pytest.fixture(scope="module")
def server(tmp_path_factory, keys):
    folder = tmp_path_factory.mktemp("plain")
    tools = folder / "tools"
    tools.mkdir()
    smi = tools / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'GPU 0: NVIDIA L40S (UUID: GPU-aaaa)'\n", encoding="utf-8")
    smi.chmod(0o755)
    made = Server(folder / "server", keys, tools=tools).start()
    yield made
    made.stop()


def run(transport, *commands, told=lambda _event: None):
    collected = Collected(transport.name, commands)
    return asyncio.run(probe(transport, commands, told, collected))


def outs(made):
    return {result.id: (result.outcome, result.exit_code, result.out.decode()) for result in made.results}


def refused(transport, *commands):
    with pytest.raises(InputError) as fault:
        run(transport, *(commands or (ECHO,)))
    return fault.value.message


def answering(answers, asked):
    """Answers questions by their kind and remembers them."""

    async def answer(question: Question):
        asked.append(question)
        return answers.get(question.kind)

    return answer


def test_commands_run_there_with_their_arguments_as_they_are(server):
    events: list[Event] = []
    made = run(SshTransport("node", extra=server.client()), ECHO, SMI, ABSENT, told=events.append)
    assert made.whole
    assert outs(made) == {
        "echo": ("ended", 0, "it's $HOME a  b\n"),
        "smi": ("ended", 0, "GPU 0: NVIDIA L40S (UUID: GPU-aaaa)\n"),
        "absent": ("not_found", None, ""),
    }
    hello = next(event for event in events if isinstance(event, Hello))
    assert hello.python.startswith("3.")
    assert hello.clock_offset_s is not None
    assert abs(hello.clock_offset_s) < 2
    assert {event.id for event in events if isinstance(event, Began)} == {"echo", "smi", "absent"}


def test_a_login_with_a_password(server):
    if not sshd.namespace_possible():
        pytest.skip("a user with a password needs root and a mount namespace")
    asked: list[Question] = []
    client = server.client("word", IdentityFile="none", PreferredAuthentications="password")
    made = run(SshTransport("word", answering({Asked.PASSWORD: PASSWORD}, asked), extra=client), ECHO)
    assert outs(made)["echo"][0] == "ended"
    assert [(question.kind, question.secret) for question in asked] == [(Asked.PASSWORD, True)]
    wrong = refused(SshTransport("word", answering({Asked.PASSWORD: "no"}, []), extra=client))
    assert wrong.id == "probe.ssh.denied"


def test_nobody_to_ask_means_that_nothing_waits(server):
    client = server.client("quiet", IdentityFile="none", PreferredAuthentications="password")
    began = time.monotonic()
    assert refused(SshTransport("quiet", extra=client)).id == "probe.ssh.denied"
    assert time.monotonic() - began < 10


def test_a_new_host_key_is_shown_and_asked(server, tmp_path):
    known = tmp_path / "known"
    client = server.client("new", UserKnownHostsFile=str(known), StrictHostKeyChecking="ask")
    asked: list[Question] = []
    assert refused(SshTransport("new", answering({}, asked), extra=client)).id == "probe.ssh.host_key_unknown"
    assert not known.exists()
    assert "SHA256:" in asked[0].text
    made = run(SshTransport("new", answering({Asked.HOST_KEY: "yes"}, asked), extra=client), ECHO)
    assert made.whole
    assert known.exists()
    assert [question.kind for question in asked] == [Asked.HOST_KEY] * 2


def test_a_host_key_that_changed_is_never_passed(server, tmp_path, keys):
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{server.port} {keys.public('other_host')}\n")
    asked: list[Question] = []
    client = server.client("changed", UserKnownHostsFile=str(known), StrictHostKeyChecking="ask")
    transport = SshTransport("changed", answering({Asked.HOST_KEY: "yes"}, asked), extra=client)
    assert refused(transport).id == "probe.ssh.host_key_changed"
    assert known.read_text().count("\n") == 1


def test_over_another_host(server, start):
    inner = start("inner")
    config = Path(inner.client("inner")[1]).read_text()
    outer = Path(server.client("outer")[1]).read_text()
    both = server.folder / "both"
    both.write_text(config + "  ProxyJump outer\n" + outer)
    made = run(SshTransport("inner", extra=("-F", str(both))), ECHO)
    assert outs(made)["echo"][0] == "ended"


PROXY = """import socket, sys, threading
there = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def back():
    while part := there.recv(65536):
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
threading.Thread(target=back, daemon=True).start()
while part := sys.stdin.buffer.read1(65536):
    there.sendall(part)
"""


def test_through_a_command_of_the_configuration(server, tmp_path):
    """Such a command alone reaches the machine: nobody knows its name here."""
    program = tmp_path / "proxy.py"
    program.write_text(PROXY, encoding="utf-8")
    client = server.client(
        "behind",
        HostName="machine.invalid",
        HostKeyAlias=f"[127.0.0.1]:{server.port}",
        ProxyCommand=f"{sys.executable} {program} {server.port}",
    )
    assert outs(run(SshTransport("behind", extra=client), ECHO))["echo"][0] == "ended"
    without = server.client("behind", HostName="machine.invalid")
    assert refused(SshTransport("behind", extra=without)).id == "probe.ssh.no_such_name"


def test_what_a_configuration_includes_and_matches_holds(server, tmp_path):
    """The port stands in a block that holds for this name alone, the rest in another file."""
    rest = Path(server.client("matched", Port="1")[1]).read_text(encoding="utf-8")
    included, config, matched = tmp_path / "rest.conf", tmp_path / "config", tmp_path / "matched"
    included.write_text(rest + rest.replace("Host matched", "Host other"), encoding="utf-8")
    config.write_text(
        f'Match originalhost matched exec "touch {matched}"\n  Port {server.port}\nMatch all\n  Include {included}\n',
        encoding="utf-8",
    )
    extra = ("-F", str(config))
    assert outs(run(SshTransport("matched", extra=extra), ECHO))["echo"][0] == "ended"
    assert matched.exists()
    assert refused(SshTransport("other", extra=extra)).id == "probe.ssh.refused"


def test_what_a_login_prints_around_it_is_not_taken_for_results(start, tmp_path):
    banner = tmp_path / "banner"
    banner.write_text("** AUTHORIZED USE ONLY **\n" * 50)
    noise = tmp_path / "noise"
    noise.write_text(
        '#!/bin/sh\nprintf "hello from .bashrc\\nshell\\nsh\\n\\377\\000\\033[31m"\neval "$SSH_ORIGINAL_COMMAND"\n'
    )
    noise.chmod(0o755)
    server = start(settings={"Banner": str(banner), "ForceCommand": str(noise)})
    assert outs(run(SshTransport("node", extra=server.client()), ECHO))["echo"][2] == "it's $HOME a  b\n"


@pytest.fixture
def only_sh(tmp_path):
    """A search path on which there is no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "head", "sleep", "date", "uname", "id", "cat", "ls", "seq"):
        (folder / tool).symlink_to(
            next(Path(place) / tool for place in ("/bin", "/usr/bin") if (Path(place) / tool).exists())
        )
    return str(folder)


def test_a_host_without_python_is_read_by_its_shell(start, only_sh, tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.txt").write_text(f"{name}")
    late = Command("late", Topic.HOST, ("sleep", "60"), limit_s=1)
    many = Command("many", Topic.HOST, ("seq", "100000"), limit_bytes=1000)
    each = Command("each", Topic.HOST, ("head", "-v", "-n", "1", f"{tmp_path}/*.txt"), expand=True)
    failing = Command("failing", Topic.HOST, ("ls", "/no/such"))
    events: list[Event] = []
    server = start(path=only_sh)
    made = run(SshTransport("node", extra=server.client()), ECHO, ABSENT, late, many, each, failing, told=events.append)
    found = outs(made)
    assert made.whole
    assert found["echo"] == ("ended", 0, "it's $HOME a  b\n")
    assert found["absent"][0] == "not_found"
    assert found["late"][0] == "timed_out"
    assert found["many"][0] == "cut"
    assert len(found["many"][2]) == 1000
    assert [line for line in found["each"][2].splitlines() if line.startswith("==>")] == [
        f"==> {tmp_path}/a.txt <==",
        f"==> {tmp_path}/b.txt <==",
    ]
    assert found["failing"][1] not in {0, None}
    assert "No such file" in found["failing"][2]
    hello = next(event for event in events if isinstance(event, Hello))
    assert (hello.python, hello.system) == ("", "Linux")


def sleeper(tmp_path):
    """A command that says which process it is and then does not end."""
    path = tmp_path / "pid"
    return Command("sleeper", Topic.HOST, ("sh", "-c", f"echo $$ > '{path}'; sleep 60"), limit_s=60), path


async def pid_in(path):
    for _ in range(500):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        await asyncio.sleep(0.02)
    raise AssertionError("it did not start")


@pytest.mark.parametrize("python", [True, False])
def test_cancelled_it_leaves_nothing_running_there(start, only_sh, tmp_path, python):
    server = start() if python else start(path=only_sh)
    command, path = sleeper(tmp_path)

    async def cancelled():
        collected, echoed = Collected("node", (ECHO, command)), asyncio.Event()
        transport = SshTransport("node", extra=server.client())

        def told(event):
            if isinstance(event, Ended):
                echoed.set()

        work = asyncio.ensure_future(probe(transport, (ECHO, command), told, collected))
        pid = await pid_in(path)
        await echoed.wait()
        began = time.monotonic()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        return pid, time.monotonic() - began, collected.run(whole=False)

    pid, took_s, kept = asyncio.run(cancelled())
    assert took_s < 2
    assert gone(pid)
    assert outs(kept)["echo"][0] == "ended"


@pytest.mark.parametrize(("how", "why"), [(signal.SIGKILL, ""), (signal.SIGSTOP, "probe.ssh.lost")])
def test_a_network_that_breaks_or_falls_silent_keeps_what_came(start, tmp_path, how, why):
    server = start()
    client = server.client(ServerAliveInterval="1", ServerAliveCountMax="1")
    command, path = sleeper(tmp_path)
    events: list[Event] = []

    async def broken():
        collected, echoed = Collected("node", (ECHO, command)), asyncio.Event()

        def told(event):
            events.append(event)
            if isinstance(event, Ended):
                echoed.set()

        work = asyncio.ensure_future(probe(SshTransport("node", extra=client), (ECHO, command), told, collected))
        pid = await pid_in(path)
        await echoed.wait()
        server.end_sessions(how)
        return pid, await asyncio.wait_for(work, 15)

    pid, made = asyncio.run(broken())
    assert not made.whole
    assert outs(made)["echo"][0] == "ended"
    (lost,) = [event.why for event in events if isinstance(event, Lost)]
    assert lost.id == "probe.ssh.lost_between"
    if why:
        reason = lost.values["why"]
        assert isinstance(reason, Message)
        assert reason.id == why
        server.end_sessions()
    assert gone(pid)


def test_a_host_that_takes_the_connection_and_says_nothing():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        port = deaf.getsockname()[1]
        began = time.monotonic()
        extra = ("-F", "none", "-p", str(port), "-o", "ConnectTimeout=1")
        assert refused(SshTransport("127.0.0.1", extra=extra)).id == "probe.ssh.timed_out"
        assert time.monotonic() - began < 8


@pytest.mark.parametrize(
    ("name", "extra", "id_"),
    [
        ("127.0.0.1", ("-F", "none", "-p", "1"), "probe.ssh.refused"),
        ("no-such-host.invalid", ("-F", "none"), "probe.ssh.no_such_name"),
        ("-oProxyCommand=touch owned", (), "probe.ssh.bad_name"),
        ("host;reboot", (), "probe.ssh.bad_name"),
        ("", (), "probe.ssh.bad_name"),
    ],
)
def test_what_cannot_be_reached_says_why(name, extra, id_):
    assert refused(SshTransport(name, extra=extra)).id == id_


def test_a_configuration_that_cannot_be_read(tmp_path):
    config = tmp_path / "config"
    config.write_text("Host x\n  NoSuchOption yes\n")
    assert refused(SshTransport("x", extra=("-F", str(config)))).id == "probe.ssh.bad_configuration"


def test_a_host_that_floods_is_given_up(start, tmp_path):
    flood = tmp_path / "flood"
    flood.write_text(f"#!/bin/sh\nwhile :; do echo {'y' * 80}; done\n")
    flood.chmod(0o755)
    server = start(settings={"ForceCommand": str(flood)})
    began = time.monotonic()
    assert refused(SshTransport("node", extra=server.client())).id == "probe.ssh.no_shell"
    assert time.monotonic() - began < 20


def test_a_host_that_floods_without_ever_ending_a_line_is_given_up(start, tmp_path):
    flood = tmp_path / "flood"
    flood.write_text("#!/bin/sh\nexec cat /dev/zero\n")
    flood.chmod(0o755)
    server = start(settings={"ForceCommand": str(flood)})
    began = time.monotonic()
    assert refused(SshTransport("node", extra=server.client())).id == "probe.ssh.no_shell"
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("answers", [False, True])
def test_a_flood_of_complaints_is_given_up(start, tmp_path, answers):
    flood = tmp_path / "flood"
    mark = 'echo "$(echo "$SSH_ORIGINAL_COMMAND" | grep -o "gpuplanner-[0-9a-f]*" | head -1) python"'
    flood.write_text(f"#!/bin/sh\n{mark if answers else ''}\nexec cat /dev/zero >&2\n")
    flood.chmod(0o755)
    server = start(settings={"ForceCommand": str(flood)})
    events: list[Event] = []
    began = time.monotonic()
    if answers:
        assert not run(SshTransport("node", extra=server.client()), ECHO, told=events.append).whole
        assert [type(event) for event in events] == [Lost]
    else:
        assert refused(SshTransport("node", extra=server.client())).id == "probe.ssh.no_shell"
    assert time.monotonic() - began < 15


def test_a_flood_without_lines_after_the_shell_answered_ends_the_run(start, tmp_path, monkeypatch):
    monkeypatch.setattr("gpuplanner.probe.transports.ssh.LONGEST_FRAME", 1_000_000)
    flood = tmp_path / "flood"
    flood.write_text(
        "#!/bin/sh\n"
        'echo "$(echo "$SSH_ORIGINAL_COMMAND" | grep -o "gpuplanner-[0-9a-f]*" | head -1) python"\n'
        "exec cat /dev/zero\n"
    )
    flood.chmod(0o755)
    server = start(settings={"ForceCommand": str(flood)})
    events: list[Event] = []
    made = run(SshTransport("node", extra=server.client()), ECHO, told=events.append)
    assert not made.whole
    assert [type(event) for event in events] == [Lost]


def test_a_host_that_lets_nobody_run_anything(start):
    server = start(settings={"ForceCommand": "echo This account is currently not available."})
    assert refused(SshTransport("node", extra=server.client())).id == "probe.ssh.no_shell"


def test_connections_are_used_again(server):
    sockets = Sockets()
    try:
        took = []
        for _ in range(2):
            began = time.monotonic()
            run(SshTransport("node", sockets=sockets, extra=server.client()), ECHO)
            took.append(time.monotonic() - began)
            assert len(list(sockets.folder.iterdir())) == 1
    finally:
        sockets.close()
    assert not sockets.folder.exists()


def test_the_folder_of_questions_goes_with_the_connection(server, monkeypatch):
    made: list[Path] = []
    real = AskServer.__aenter__

    async def seen(self):
        entered = await real(self)
        made.append(Path(self.environment["SSH_ASKPASS"]).parent)
        return entered

    monkeypatch.setattr(AskServer, "__aenter__", seen)
    run(SshTransport("node", answering({}, []), extra=server.client()), ECHO)
    assert len(made) == 1
    assert not made[0].exists()


def test_a_password_is_in_no_list_of_processes(server):
    """While a login waits for its password, and after: neither argument lists nor environments have it."""
    if not sshd.namespace_possible():
        pytest.skip("a user with a password needs root and a mount namespace")
    found: list[str] = []
    done = threading.Event()

    def look():
        while not done.wait(0.01):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    looked_at = [path, path.with_name("environ")] if path.parent.name != str(os.getpid()) else []
                    found.extend(str(each) for each in looked_at if PASSWORD.encode() in each.read_bytes())

    looker = threading.Thread(target=look)
    looker.start()
    client = server.client("word", IdentityFile="none", PreferredAuthentications="password")
    try:
        run(SshTransport("word", answering({Asked.PASSWORD: PASSWORD}, []), extra=client), ECHO)
    finally:
        done.set()
        looker.join()
    assert found == []


def test_a_question_that_is_still_open_when_the_run_is_cancelled_ends_without_a_word(server, caplog, capsys):
    async def never(_question: Question) -> str | None:
        asked.set()
        await asyncio.Event().wait()
        return None

    async def cancelled_at_the_question() -> None:
        client = server.client("asks", PreferredAuthentications="password", PubkeyAuthentication="no")
        transport = SshTransport("asks", never, extra=client)
        running = asyncio.ensure_future(transport.collect((ECHO,), lambda _event: None))
        await asyncio.wait_for(asked.wait(), 10)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    asked = asyncio.Event()
    asyncio.run(cancelled_at_the_question())
    assert caplog.text == ""
    assert capsys.readouterr().err == ""


def test_a_connection_that_is_kept_leaves_nothing_for_a_loop_that_has_ended(server, monkeypatch):
    complaints: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", complaints.append)
    sockets = Sockets()
    try:
        assert run(SshTransport("node", sockets=sockets, extra=server.client()), ECHO).whole
        gc.collect()
    finally:
        sockets.close()
    assert complaints == []


def path_with(tmp_path, name, text):
    """A folder with one tool in it, in front of the usual ones."""
    folder = tmp_path / "front"
    folder.mkdir()
    tool = folder / name
    tool.write_text(text, encoding="utf-8")
    tool.chmod(0o755)
    return folder


def test_a_python_that_hangs_is_said_and_ended_with_what_came_of_it(start, tmp_path, monkeypatch):
    monkeypatch.setattr(ssh, "_SHELL", ssh.shell_line(2))
    monkeypatch.setattr(ssh, "CHECK_S", 2)
    pid = tmp_path / "pid"
    hanging = path_with(tmp_path, "python3", f"#!/bin/sh\nsleep 300 &\necho $! > '{pid}'\nwait\n")
    server = start(tools=hanging)
    began = time.monotonic()
    assert refused(SshTransport("node", extra=server.client())) == msg(
        "probe.ssh.python_hangs", target="node", seconds=2
    )
    assert time.monotonic() - began < 8
    assert gone(int(pid.read_text()))


@pytest.mark.parametrize(
    ("dies", "id_"),
    [("echo 'MemoryError: no room' >&2; exit 7", "program_ended"), ("kill -9 $$", "program_killed")],
)
def test_a_python_that_dies_after_its_check_is_told_from_a_lost_network(start, tmp_path, dies, id_):
    text = f'#!/bin/sh\ncase "$2" in -u) {dies};; esac\nexit 0\n'
    server = start(tools=path_with(tmp_path, "python3", text))
    events: list[Event] = []
    assert not run(SshTransport("node", extra=server.client()), ECHO, told=events.append).whole
    (lost,) = [event for event in events if isinstance(event, Lost)]
    assert lost.why.id == f"probe.ssh.{id_}"
    if id_ == "program_ended":
        assert (lost.why.values["code"], lost.why.values["said"]) == (7, "MemoryError: no room")


SHELLS = ("sh", "bash", "csh", "tcsh", "fish", "zsh", "ksh")


@pytest.mark.parametrize("python", [True, False])
@pytest.mark.parametrize("name", SHELLS)
def test_every_login_shell_runs_what_is_sent(start, only_sh, tmp_path, name, python):
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} is installed here")
    if not sshd.namespace_possible():
        pytest.skip("another login shell needs root and a mount namespace")
    server = start(shell=found, **({} if python else {"path": only_sh}))
    events: list[Event] = []
    made = run(SshTransport("node", extra=server.client()), ECHO, ABSENT, told=events.append)
    assert made.whole
    assert outs(made) == {"echo": ("ended", 0, "it's $HOME a  b\n"), "absent": ("not_found", None, "")}
    assert bool(next(event for event in events if isinstance(event, Hello)).python) is python


@pytest.fixture
def as_on_windows(monkeypatch):
    """A client that keeps no connections and asks nobody."""
    monkeypatch.setattr(ssh_client, "POSIX", False)
    monkeypatch.delattr(asyncio, "start_unix_server")


def test_where_nobody_can_be_asked_keys_still_work_and_the_rest_is_said(server, as_on_windows):
    sockets = Sockets()
    try:
        made = run(SshTransport("node", answering({}, []), sockets, server.client()), ECHO)
        assert outs(made)["echo"][0] == "ended"
        assert list(sockets.folder.iterdir()) == []
    finally:
        sockets.close()
    client = server.client("word", IdentityFile="none", PreferredAuthentications="password")
    assert refused(SshTransport("word", answering({}, []), extra=client)).id == "probe.ssh.cannot_ask"
    client = server.client("new", UserKnownHostsFile="/dev/null", StrictHostKeyChecking="ask")
    assert refused(SshTransport("new", answering({}, []), extra=client)).id == "probe.ssh.cannot_ask"


LACKS = """
import asyncio, os, signal, socket, sys
for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for module, names in ((asyncio, ("start_unix_server", "open_unix_connection")), (socket, ("AF_UNIX",)),
                      (os, ("getuid", "geteuid", "killpg", "setsid", "sysconf", "fork", "getpgid")),
                      (signal, ("SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1"))):
    for name in names:
        delattr(module, name)
import importlib, pkgutil, gpuplanner.cli, gpuplanner.probe
for package in (gpuplanner.probe, gpuplanner.cli):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
print("imported")
"""


def test_nothing_that_only_posix_has_is_needed_to_begin():
    done = subprocess.run([sys.executable, "-c", LACKS], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "imported\n"), done.stderr
