"""`probe`, `check`, `watch` and `inspect` as a stranger types them, over a real OpenSSH client and server."""

import fcntl
import json
import os
import pty
import select
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpuplanner.cli import machine_evidence, probe_command
from gpuplanner.machines.sample import sample_run
from gpuplanner.probe.commands import READ_ONLY, Command, Topic
from tests.probe import sshd
from tests.probe.native_libraries import SOURCES, compiler
from tests.probe.replaying import own_client, replaying_tools
from tests.probe.sshd import PASSWORD, Keys, Server, namespace_possible

FEW = tuple(command for command in READ_ONLY if command.id in {"smi.xml", "smi.list", "nproc", "smi.table"})
CODE = "123456"
GPU_KEYS = {
    "index", "name", "uuid", "memory_total_mib", "driver_version", "pcie_gen_current", "pcie_gen_max",
    "pcie_width_current", "pcie_width_max", "mig_mode", "ecc_mode", "virtualization", "power_limit_w", "temperature_c",
}  # fmt: skip


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    sshd.needed()
    return Keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    return replaying_tools(tmp_path_factory.mktemp("machine") / "tools", sample_run())


@pytest.fixture(scope="module")
def server(tmp_path_factory, keys, tools):
    made = Server(tmp_path_factory.mktemp("server") / "s", keys, tools=tools).start()
    yield made
    made.stop()


@pytest.fixture
def start(tmp_path, keys):
    made = []

    def make(name="other", **settings):
        made.append(Server(tmp_path / name, keys, **settings).start())
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def known(tmp_path, monkeypatch):
    """Makes machines known to the person's SSH client."""

    def make(options):
        folder = own_client(tmp_path / "client", options)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return make


@pytest.fixture
def few(monkeypatch):
    """Only some of the commands: all of them take six seconds."""
    monkeypatch.setattr(probe_command, "READ_ONLY", FEW)
    monkeypatch.setattr(machine_evidence, "READ_ONLY", FEW)


def one_sentence(said):
    """The one thing that is said beside the results."""
    (line,) = said.splitlines()
    assert line.startswith("gpuplanner: ")
    return line.removeprefix("gpuplanner: ")


def test_watching_logs_in_once_however_many_samples_it_shows(run, start, known, tmp_path):
    logins, noted = tmp_path / "logins", tmp_path / "noted"
    noted.write_text(f'#!/bin/sh\necho "$SSH_CONNECTION" >> {logins}\neval "$SSH_ORIGINAL_COMMAND"\n', encoding="utf-8")
    noted.chmod(0o755)
    known(start(settings={"ForceCommand": str(noted)}).client())
    code, out, _ = run("watch", "node", "--interval", "0.1", "--seconds", "2", "--json")
    assert code in {0, 1}
    # Without a GPU there is a sample a second.
    assert len({json.loads(line)["at_s"] for line in out.splitlines()}) >= 2
    assert len(logins.read_text(encoding="utf-8").splitlines()) == 1


def test_all_of_it_from_the_first_probe_to_the_recording(run, server, known, tmp_path):
    known(server.client())
    saved = tmp_path / "node.gpurun"
    code, out, err = run("probe", "node", "--json", "--save", str(saved))
    told = json.loads(out)
    assert (code, told["target"], told["whole"]) == (0, "node", True)
    assert {command["id"] for command in told["commands"]} == {command.id for command in READ_ONLY}
    assert {line[2:] for line in err.splitlines() if line.startswith("$ ")} == {each.shown for each in READ_ONLY}
    gpu = told["evidence"]["gpus"][5]
    assert gpu.keys() >= GPU_KEYS
    assert (gpu["name"], gpu["pcie_width_current"], gpu["pcie_width_max"]) == ("NVIDIA H100 80GB HBM3", 8, 16)

    code, out, _ = run("inspect", str(saved), "--json")
    parts = json.loads(out)
    assert code == 0
    assert all(part.keys() == {"file", "tool", "evidence", "problems"} for part in parts)
    (xml,) = [part for part in parts if part["tool"] == "nvidia-smi-xml"]
    assert len(xml["evidence"]["gpus"]) == 8
    assert xml["evidence"]["gpus"][5].keys() >= GPU_KEYS

    code, out, _ = run("check", str(saved), "--expect", "8x H100 SXM5 80GB", "--json")
    told = json.loads(out)
    assert (code, told["verdict"], told["expected"]) == (1, "fail", "8 × H100 SXM5 80GB, by the catalog")
    fixed = {"id", "verdict", "expected", "measured", "reason", "source", "evidence"}
    assert all(check.keys() >= fixed for check in told["checks"])
    found = {check["id"]: check["verdict"] for check in told["checks"]}
    assert (found["pcie.width"], found["power.limit"], found["gpu.count"]) == ("fail", "fail", "pass")


def test_a_machine_is_checked_as_it_is_now(run, server, known, few):
    known(server.client())
    code, out, _ = run("check", "node", "--expect", "16x H100 SXM5 80GB", "--json")
    told = json.loads(out)
    count = next(check for check in told["checks"] if check["id"] == "gpu.count")
    assert (code, count["verdict"], count["expected"], count["measured"]) == (1, "fail", "16", "8")
    code, out, err = run("check", "node", "--expect", "4x H800 XSM", "--json")
    assert code == 2
    assert "H800 XSM" in one_sentence(err)
    assert json.loads(out)["error"]["message"] == one_sentence(err)


def test_a_machine_as_promised_exits_with_0(run, start, known, few, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    smi = tools / "nvidia-smi"
    listed = "".join(f"GPU {at}: NVIDIA H100 80GB HBM3 (UUID: GPU-a{at})\\n" for at in range(2))
    smi.write_text(f"#!/bin/sh\n[ \"$1\" = -L ] && printf '{listed}' || exit 2\n")
    nproc = tools / "nproc"
    nproc.write_text("#!/bin/sh\necho 64\n")
    for tool in (smi, nproc):
        tool.chmod(0o755)
    known(start(tools=tools).client())
    code, out, _ = run("check", "node", "--expect", "2x H100 SXM5 80GB")
    assert code == 0, out


def seen_there(libraries, **settings):
    names = ("LD_LIBRARY_PATH", "STUB_LEDGER", *(f"STUB_{name.upper()}" for name in settings))
    found = libraries.environment(**settings)
    return {"SetEnv": " ".join(["PATH=/usr/bin:/bin", *(f"{name}={found[name]}" for name in names)])}


def test_a_few_samples_are_watched(run, start, known, libraries):
    libraries.put("nvml")
    known(start(settings=seen_there(libraries, gpus=8)).client())
    code, out, err = run("watch", "node", "--interval", "0.2", "--seconds", "0.6", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [row["gpu"] for row in rows[:8]] == list(range(8))
    assert {row["power_w"] for row in rows[:8]} == {431.5}
    code, out, err = run("watch", "node", "--interval", "0.2", "--seconds", "0.6")
    assert (code, err) == (0, "")
    assert out.splitlines()[7] == "GPU 7: NVIDIA Stub 7"


def test_watched_it_says_that_the_network_broke_and_keeps_what_came(start, known, libraries):
    libraries.put("nvml")
    server = start(settings=seen_there(libraries, gpus=1))
    known(server.client())
    with subprocess.Popen(
        [sys.executable, "-m", "gpuplanner", "watch", "node", "--interval", "0.1"], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as watching:  # fmt: skip
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert watching.stdout.readline().startswith("GPU 0: ")
        for _ in range(4):
            watching.stdout.readline()
        server.end_sessions()
        said = one_sentence(watching.stderr.read())
        assert said.startswith("The connection to node broke; what had come is kept.")
        assert watching.wait(10) == 1


def test_over_another_host(run, server, start, known, few, tools, tmp_path):
    inner = start("inner", tools=tools)
    both = tmp_path / "both"
    both.write_text(
        Path(inner.client("inner")[1]).read_text() + "  ProxyJump outer\n" + Path(server.client("outer")[1]).read_text()
    )
    known(("-F", str(both)))
    code, out, _ = run("probe", "inner")
    assert code == 0
    assert "8 × NVIDIA H100 80GB HBM3" in out


@pytest.mark.parametrize("command", ["probe", "check", "watch"])
def test_a_wrong_host_key_is_one_sentence_and_nothing_gets_weaker(run, server, known, keys, tmp_path, command):
    wrong = tmp_path / "known"
    wrong.write_text(f"[127.0.0.1]:{server.port} {keys.public('other_host')}\n")
    known(server.client("node", UserKnownHostsFile=str(wrong), StrictHostKeyChecking="ask"))
    code, out, err = run(command, "node")
    assert (code, out) == (2, "")
    assert one_sentence(err).startswith("The host key of node is not the one that is known.")
    assert wrong.read_text().count("\n") == 1


def test_a_connection_test_says_at_which_step_a_host_key_is_wrong(run, server, known, keys, tmp_path):
    wrong = tmp_path / "known"
    wrong.write_text(f"[127.0.0.1]:{server.port} {keys.public('other_host')}\n")
    known(server.client("node", UserKnownHostsFile=str(wrong)))
    code, out, err = run("probe", "--test", "node", "--json")
    told = json.loads(out)
    assert (code, err, told["usable"]) == (1, "", False)
    assert [(step["step"], step["state"]) for step in told["steps"]][-1] == ("host_key", "failed")


def test_a_host_that_takes_the_connection_and_hangs(run, known):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        known(("-F", "none", "-p", str(deaf.getsockname()[1]), "-o", "ConnectTimeout=1"))
        code, out, err = run("probe", "127.0.0.1")
    assert (code, out) == (2, "")
    assert one_sentence(err).startswith("127.0.0.1 does not answer.")


@pytest.mark.parametrize(
    ("forced", "says"),
    [
        ("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done", "runs no command"),
        ("exec cat /dev/zero", "runs no command"),
        ("echo This account is currently not available.", "runs no command"),
    ],
)
def test_a_host_that_floods_or_gives_no_shell(run, start, known, tmp_path, forced, says):
    script = tmp_path / "forced"
    script.write_text(f"#!/bin/sh\n{forced}\n")
    script.chmod(0o755)
    known(start(settings={"ForceCommand": str(script)}).client())
    code, out, err = run("probe", "node")
    assert (code, out) == (2, "")
    assert says in one_sentence(err)


def test_banner_and_garbage_are_neither_results_nor_shown(run, start, known, few, tools, tmp_path):
    banner, noise = tmp_path / "banner", tmp_path / "noise"
    banner.write_text("\x1b]0;owned\x07** AUTHORIZED USE ONLY **\n")
    noise.write_text('#!/bin/sh\nprintf "\\033[31mhello\\377\\000\\r\\n{}\\n"\neval "$SSH_ORIGINAL_COMMAND"\n')
    noise.chmod(0o755)
    known(start(tools=tools, settings={"Banner": str(banner), "ForceCommand": str(noise)}).client())
    code, out, err = run("probe", "node")
    assert code == 0
    assert "8 × NVIDIA H100 80GB HBM3" in out
    assert "\x1b" not in out + err
    assert "hello" not in out + err


def test_a_machine_that_drops_in_the_middle_keeps_what_came(run, start, known, monkeypatch, tmp_path, tools):
    server = start(tools=tools)
    known(server.client())
    # The last command takes its own connection away, as a network does that breaks.
    cut = Command("cut", Topic.HOST, ("sh", "-c", "sleep 0.7; kill -9 $(ps -o ppid= -p $PPID)"))
    monkeypatch.setattr(probe_command, "READ_ONLY", (*FEW, cut))
    saved = tmp_path / "half.gpurun"
    code, out, err = run("probe", "node", "--save", str(saved))
    assert code == 1
    assert "8 × NVIDIA H100 80GB HBM3" in out
    assert [line for line in err.splitlines() if line.startswith("gpuplanner: ")] != []
    monkeypatch.undo()
    assert json.loads(run("inspect", str(saved), "--json")[1])[0]["tool"] == "nvidia-smi-xml"


@pytest.fixture
def only_sh(tmp_path, tools):
    """A search path without Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "head", "sleep", "date", "uname", "id", "cat", "ls"):
        (folder / tool).symlink_to(
            next(place for base in ("/bin", "/usr/bin") if (place := Path(base) / tool).exists())
        )
    return str(folder)


def test_without_python_the_shell_answers_and_watching_says_what_it_needs(run, start, known, few, only_sh, tools):
    known(start(path=only_sh, tools=tools).client())
    code, out, _ = run("probe", "node", "--json")
    told = json.loads(out)
    assert (code, told["whole"], len(told["evidence"]["gpus"])) == (0, True, 8)
    code, out, err = run("watch", "node")
    assert (code, out) == (2, "")
    assert one_sentence(err).startswith("node has no Python 3.6 or later")


class Terminal:
    """A command at a terminal of its own, typed at as a person does."""

    _LEAD = "import fcntl,os,sys,termios;fcntl.ioctl(0,termios.TIOCSCTTY,0);os.execv(sys.executable,sys.argv[1:])"

    def __init__(self, *words):
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", self._LEAD, sys.executable, "-m", "gpuplanner", *words],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        fcntl.fcntl(self._ours, fcntl.F_SETFL, os.O_NONBLOCK)
        self.shown = ""

    def until(self, text, times=1):
        """Read until a text was shown so often, or the end."""
        end = time.monotonic() + 30
        while text is None or self.shown.count(text) < times:
            assert time.monotonic() < end, self.shown
            if not select.select([self._ours], [], [], 0.2)[0]:
                continue
            try:
                piece = os.read(self._ours, 65536)
            except OSError:
                piece = b""
            if not piece:
                assert text is None, self.shown
                return
            self.shown += piece.decode("utf-8", "replace")

    def types(self, text):
        os.write(self._ours, text.encode() + b"\n")

    def code(self):
        self.until(None)
        return self.process.wait(10)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def terminal():
    opened = []

    def make(*words):
        opened.append(Terminal(*words))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def test_a_password_is_typed_and_neither_shown_nor_kept(server, known, terminal, tmp_path):
    if not namespace_possible():
        pytest.skip("a user with a password needs root and a mount namespace")
    known(server.client("node", IdentityFile="none", PreferredAuthentications="password"))
    saved = tmp_path / "node.gpurun"
    at = terminal("probe", "node", "--save", str(saved))
    at.until("password:")
    at.until("> ")
    at.types(PASSWORD)
    assert at.code() == 0
    assert "8 × NVIDIA H100" in at.shown
    assert PASSWORD not in at.shown
    homes = {
        Path(os.environ[name]) for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    }
    kept = [saved, *(path for home in homes for path in home.rglob("*") if path.is_file())]
    # The history is among them.
    assert len(kept) > 1
    assert [path for path in kept if PASSWORD.encode() in path.read_bytes()] == []


def test_a_password_and_a_one_time_code_are_two_questions(start, known, terminal, tmp_path):
    if not namespace_possible():
        pytest.skip("a user with a password needs root and a mount namespace")
    module = tmp_path / "pam_code.so"
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", str(module), str(SOURCES / "pam_code.c")], check=True)
    server = start(pam=f"auth required {module} {PASSWORD} {CODE}", settings={"KbdInteractiveAuthentication": "yes"})
    known(server.client("node", IdentityFile="none", PreferredAuthentications="keyboard-interactive"))
    at = terminal("probe", "--test", "node")
    at.until("> ")
    at.types(PASSWORD)
    at.until("code")
    at.until("> ", 2)
    at.types(CODE)
    assert at.code() == 0
    assert "Login: done" in at.shown
    assert CODE not in at.shown
    assert PASSWORD not in at.shown
