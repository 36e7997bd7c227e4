"""Why the user's SSH client gave up, in words of ours, out of what it prints under `LC_ALL=C`."""

import re

from gpuplanner.messages import Message, msg, on_one_line, shortened

_FAULTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), name)
    for pattern, name in (
        (r"REMOTE HOST IDENTIFICATION HAS CHANGED|host key for .{1,200} has changed", "host_key_changed"),
        (r"Host key verification failed|No .{1,40} host key is known for", "host_key_unknown"),
        (r"Could not resolve hostname|Name or service not known|nodename nor servname", "no_such_name"),
        (r"Connection refused", "refused"),
        (r"No route to host|Network is unreachable|Host is down", "no_route"),
        (r"Connection timed out|Operation timed out|connect to host .{1,200} timed out|banner exchange", "timed_out"),
        (r"Too many authentication failures", "too_many_keys"),
        (r"Permission denied|Authentication failed|no more authentication methods", "denied"),
        (r"UNPROTECTED PRIVATE KEY|bad permissions", "key_permissions"),
        (r"Bad configuration option|terminating, \d+ bad configuration", "bad_configuration"),
        (r"no matching (?:host key|key exchange|cipher|mac)", "no_common_method"),
        (r"kex_exchange_identification|Connection reset|Connection closed|Broken pipe|client_loop", "closed"),
        (r"Connection to .{1,200} closed", "closed"),
        (r"Timeout, server .{1,200} not responding", "lost"),
        (r"hostname contains invalid characters|Bad port|invalid host", "bad_name"),
    )
)


_CHATTER = ("debug", "OpenSSH_", "Warning: Permanently", "Authenticated to", "Transferred:", "Bytes per second:")
"""How lines begin that tell of no fault, those of `-v` among them."""


_OWN_FAULT = 255
"""The client's exit code for faults of its own, and for a program there that a signal ended."""


def fault_of(target: str, said: str) -> Message:
    """The reason that a person reads: what happened and what to do, with the client's own last line."""
    lines = _lines(said)
    text = "\n".join(lines)
    for pattern, name in _FAULTS:
        if pattern.search(text):
            return msg(f"probe.ssh.{name}", target=target, said=_last(lines))
    return msg("probe.ssh.other", target=target, said=_last(lines))


def program_ended(target: str, code: int | None, said: str) -> Message:
    """That the program there ended by itself too early. `code`: the client's exit code; `said`: what was complained."""
    if code is None or code < 0 or code == _OWN_FAULT:
        return msg("probe.ssh.program_killed", target=target)
    return msg("probe.ssh.program_ended", target=target, code=code, said=_last(_lines(said)))


def _lines(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.strip() and not line.startswith(_CHATTER)]


def _last(lines: list[str]) -> str:
    return shortened(on_one_line(lines[-1]), 200) if lines else "–"
