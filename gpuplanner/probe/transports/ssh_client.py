"""How the user's own OpenSSH client is called. Its configuration decides everything that is not said here."""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gpuplanner.messages import InputError, msg, on_one_line, shortened

POSIX = os.name == "posix"
"""Whether the client here can keep connections and ask through a program of ours.

The one of Windows keeps none (PowerShell/Win32-OpenSSH issue 1328), and there a program that is no `.exe` would get a
server's question through a shell, which such a text must never reach.
"""
CONNECT_S = 20
"""How long a connection may take where the user's configuration says nothing."""
SHORT_TEMPORARY = "/tmp" if POSIX else None  # noqa: S108 (a folder of our own is made in it)
"""Where sockets lie: their paths are limited to about a hundred characters, and some systems' folders are longer."""
_LEAVE_S = 2.0
"""How long a kept connection may take to end."""
_TARGET = re.compile(r"^[^\s\x00-\x1f'\"`$&|;<>()\\!{}*?-][^\s\x00-\x1f'\"`$&|;<>()\\!{}*?]{0,253}$")


def checked(target: str) -> str:
    """A target that is a name, `user@name` or `ssh://…`. Raises InputError: nothing else is given to the client."""
    if not _TARGET.match(target):
        raise InputError(msg("probe.ssh.bad_name", target=shortened(on_one_line(target), 80), said=""))
    return target


def program() -> str:
    """The client on the search path. Raises InputError where there is none."""
    found = shutil.which("ssh")
    if found is None:
        raise InputError(msg("probe.ssh.no_client"))
    return found


async def configuration(target: str, extra: tuple[str, ...] = ()) -> dict[str, str]:
    """What the user's configuration makes of a target (`ssh -G`): hostname, port, user, proxyjump and so on.

    Raises InputError where the configuration cannot be read.
    """
    process = await asyncio.create_subprocess_exec(
        program(), "-G", *extra, "--", checked(target), env=environment(), stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    if process.returncode != 0:
        said = err.decode("utf-8", "replace").strip().splitlines()
        raise InputError(msg("probe.ssh.bad_configuration", target=target, said=shortened(said[-1]) if said else "–"))
    pairs = (line.split(" ", 1) for line in out.decode("utf-8", "replace").splitlines() if " " in line)
    settings: dict[str, str] = {}
    for name, value in pairs:
        settings.setdefault(name, value.strip())
    return settings


def environment(added: Mapping[str, str] = {}) -> dict[str, str]:
    """The client's environment: its messages in English, whatever the user's language."""
    return {**os.environ, "LC_ALL": "C", **added}


def can_ask() -> bool:
    """Whether questions of the client can reach a person here."""
    return POSIX


class Sockets:
    """Where connections that are kept for reuse have their sockets: a short path in a folder of this user's own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gpuplanner-ssh-", dir=SHORT_TEMPORARY))

    def close(self) -> None:
        """End the connections that are kept, and forget the folder. Should we die before, they end after a minute."""
        for socket in self.folder.iterdir() if self.folder.exists() else ():
            with suppress(OSError, subprocess.SubprocessError, InputError):
                subprocess.run(
                    [program(), "-F", "none", "-S", str(socket), "-O", "exit", "--", "kept"], timeout=_LEAVE_S,
                    check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
        shutil.rmtree(self.folder, ignore_errors=True)


def arguments(
    target: str, settings: Mapping[str, str], *, sockets: Sockets | None, may_ask: bool, extra: tuple[str, ...] = ()
) -> list[str]:
    """The client's argument list up to the remote command.

    Switched off: what would make a session that only runs a command fail or do more (forwarded ports, a terminal, a
    command of the user's configuration). Host-key checks are the user's own; nothing here weakens them.
    """
    options = [
        "RequestTTY=no",
        "RemoteCommand=none",
        "PermitLocalCommand=no",
        "ClearAllForwardings=yes",
        "ForwardX11=no",
        "ForwardAgent=no",
        "EscapeChar=none",
        f"BatchMode={'no' if may_ask else 'yes'}",
    ]
    if settings.get("connecttimeout", "none") in {"none", "0"}:
        options.append(f"ConnectTimeout={CONNECT_S}")
    if settings.get("serveraliveinterval", "0") == "0":
        options += ["ServerAliveInterval=5", "ServerAliveCountMax=3"]
    if sockets is not None and POSIX and settings.get("controlpath", "none") == "none":
        options += ["ControlMaster=auto", f"ControlPath={sockets.folder}/%C", "ControlPersist=60"]
    words = [program(), "-T", *extra]
    for option in options:
        words += ["-o", option]
    return [*words, "--", checked(target)]
