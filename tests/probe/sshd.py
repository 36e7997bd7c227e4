"""A real OpenSSH server on loopback, for one test: its own keys, its own users, nothing of the system changed.

As root it runs in a mount namespace of its own, where a user with a password and an empty home exists and `/run` is
empty; as another user it serves that user alone, and by key only.
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
PASSWORD = "four-gpus-please"
HASHED = "$6$gpuplanner$9krV7WP8xh.w.S45XKvlmDJRfSnHTGfI6CkdsHU9tPqAGKgOa4d/VYBS2aKewvBsWx9iK2DN4tRMUlQZBK7aR."
"""The password as /etc/shadow has it (SHA-512)."""


OWN_PLACES = ("/tmp", "/var/tmp", "/dev/shm")
"""Where everybody may write, besides the home and `/run`."""


def _ran(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


def needed() -> None:
    """Skip where no server is installed; `make test` installs it for root."""
    if not Path(SSHD).exists():
        pytest.skip("no OpenSSH server is installed here (package openssh-server), and a running system is given none")


def namespace_possible() -> bool:
    """Whether a mount namespace can be made: as root, outside the strictest containers."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass
class Keys:
    """The keys of a test run: made once, since making them takes longest."""

    folder: Path
    host: Path = field(init=False)
    other_host: Path = field(init=False)
    user: Path = field(init=False)

    def __post_init__(self) -> None:
        for name in ("host", "other_host", "user"):
            path = self.folder / name
            _ran("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path))
            setattr(self, name, path)

    def public(self, name: str) -> str:
        """The public half of a key."""
        return (self.folder / f"{name}.pub").read_text(encoding="utf-8").strip()


@dataclass
class Server:
    """One running server. `tools`: a folder in front of the search path there."""

    folder: Path
    keys: Keys
    settings: Mapping[str, str] = field(default_factory=dict)
    tools: Path | None = None
    path: str = "/usr/local/bin:/usr/bin:/bin"
    pam: str = ""
    """What its PAM configuration says of logins; needs a namespace."""
    shell: str = "/bin/bash"
    """The login shell; needs a namespace."""
    keeping: Path | None = None
    """Where given, `/tmp`, `/var/tmp` and `/dev/shm` there are empty but for this folder; needs a namespace."""
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def user(self) -> str:
        """Who can log in."""
        return pwd.getpwuid(os.geteuid()).pw_name

    @property
    def home(self) -> Path:
        """The folder that the user has there; in a namespace it is empty at first, and no other's."""
        return self.folder / "home" if namespace_possible() else Path.home()

    def start(self) -> "Server":
        """Start it and wait until it listens."""
        self.folder.mkdir(exist_ok=True)
        allowed = self.folder / "authorized_keys"
        allowed.write_text(self.keys.public("user") + "\n", encoding="utf-8")
        allowed.chmod(0o600)
        path = self.path if self.tools is None else f"{self.tools}:{self.path}"
        settings = {
            "ListenAddress": f"127.0.0.1:{self.port}",
            "HostKey": str(self.keys.host),
            "AuthorizedKeysFile": str(allowed),
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "yes" if self.pam else "no",
            "PermitRootLogin": "yes",
            "PasswordAuthentication": "yes",
            "PrintMotd": "no",
            "SetEnv": f"PATH={path}",
            "LogLevel": "ERROR",
            **self.settings,
        }
        config = self.folder / "sshd_config"
        config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()), encoding="utf-8")
        words = [SSHD, "-D", "-e", "-f", str(config)]
        if namespace_possible():
            words = ["unshare", "-m", "sh", "-c", self._apart(), "sh", *words]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while True:
            with socket.socket() as trying:
                if trying.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < end
            time.sleep(0.02)

    def _apart(self) -> str:
        """What is done in the namespace before the server starts: an empty /run, a home and a password."""
        shadow = self.folder / "shadow"
        shadow.write_text(f"{self.user}:{HASHED}:19000:0:99999:7:::\nsshd:!:19000::::::\n", encoding="utf-8")
        shadow.chmod(0o600)
        self.home.mkdir(exist_ok=True)
        users = self.folder / "passwd"
        users.write_text(
            f"{self.user}:x:{os.geteuid()}:{os.getegid()}::{self.home}:{self.shell}\nsshd:x:99:99::/run/sshd:/bin/false\n",
            encoding="utf-8",
        )
        users.chmod(0o644)
        logins = ""
        if self.pam:
            rules = self.folder / "pam"
            rules.write_text(
                f"{self.pam}\naccount required pam_permit.so\nsession required pam_permit.so\n", encoding="utf-8"
            )
            logins = f"mount -t tmpfs none /etc/pam.d && cp '{rules}' /etc/pam.d/sshd && "
        own = ""
        if self.keeping:
            empty = " && ".join(f"mount -t tmpfs none {place}" for place in OWN_PLACES)
            own = (
                f"mkdir /run/kept && mount --bind '{self.keeping}' /run/kept && {empty} && "
                f"mkdir -p '{self.keeping}' && mount --move /run/kept '{self.keeping}' && rmdir /run/kept && "
            )
        return (
            f"mount --make-rprivate / && mount -t tmpfs none /run && mkdir /run/sshd && {own}"
            f"mount --bind '{shadow}' /etc/shadow && mount --bind '{users}' /etc/passwd && {logins}exec \"$@\""
        )

    def stop(self) -> None:
        """End it and every session of it."""
        if self.process is not None:
            _ended_with_children(self.process.pid)
            self.process.kill()
            self.process.wait()

    def seen(self) -> dict[str, tuple[int, int, int, int]]:
        """All that lies where the user may write there, with its mode, size and times, those of folders too."""
        assert self.process is not None
        assert self.keeping is not None
        root = Path(f"/proc/{self.process.pid}/root")
        found = {}
        for place in (*OWN_PLACES, "/run", str(self.home)):
            for folder, folders, names in os.walk(f"{root}{place}"):
                if Path(folder) == Path(f"{root}{self.keeping}"):
                    folders.clear()
                    continue
                for path in (Path(folder), *(Path(folder) / name for name in names)):
                    told = path.lstat()
                    found[str(path)] = (told.st_mode, told.st_size, told.st_mtime_ns, told.st_ctime_ns)
        return found

    def end_sessions(self, signal: int = 9) -> None:
        """Cut all connections at once, as a network does that breaks; what runs there has to notice it by itself.

        With SIGSTOP they stay and fall silent, as a machine does that is stuck.
        """
        assert self.process is not None
        for pid in _below(self.process.pid):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").startswith("sshd"):
                    os.kill(pid, signal)

    def client(self, name: str = "node", **settings: str) -> tuple[str, ...]:
        """Options that give a client a configuration in which `name` is this server."""
        known = self.folder / "known_hosts"
        if "UserKnownHostsFile" not in settings:
            known.write_text(f"[127.0.0.1]:{self.port} {self.keys.public('host')}\n", encoding="utf-8")
        said = {
            "HostName": "127.0.0.1",
            "Port": str(self.port),
            "User": self.user,
            "IdentityFile": str(self.keys.user),
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": str(known),
            "GlobalKnownHostsFile": "none",
            "StrictHostKeyChecking": "yes",
            "ConnectTimeout": "5",
            **settings,
        }
        config = self.folder / f"config-{name}"
        lines = [f"Host {name}", *(f"  {key} {value}" for key, value in said.items())]
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ("-F", str(config))


def _below(pid: int) -> list[int]:
    children = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # After the name in brackets: the state, then the parent.
            if status.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1] == str(pid):
                children.append(int(status.parent.name))
    return [*children, *(below for child in children for below in _below(child))]


def _killed(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return


def _ended_with_children(pid: int) -> None:
    for below in _below(pid):
        _killed(below)
