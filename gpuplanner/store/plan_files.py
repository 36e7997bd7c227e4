"""`.gpuplan` files on disk: read with a limit, written whole or not at all."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from gpuplanner.messages import InputError, msg
from gpuplanner.paths import is_there
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.plan_text import LARGEST_PLAN_BYTES, parse_plan, plan_to_text


def read_plan(path: Path) -> Plan:
    """The plan in a file. Raises InputError that names the file, the place in it and what to do."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise InputError(msg("plan.no_such_file", file=str(path))) from None
    except (OSError, ValueError) as fault:
        raise _unreadable(path, fault) from None
    if not stat.S_ISREG(status.st_mode):
        raise InputError(msg("plan.not_a_file", file=str(path)))
    if status.st_size > LARGEST_PLAN_BYTES:
        raise InputError(msg("plan.too_large", file=str(path), limit=LARGEST_PLAN_BYTES // 1_000_000))
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise InputError(msg("plan.not_utf8", file=str(path), byte=fault.start)) from None
    except OSError as fault:
        raise _unreadable(path, fault) from None
    return parse_plan(text, path.name)


def write_plan(path: Path, plan: Plan) -> None:
    """Write a plan. The old file stays as it was until the new one is whole on the disk. Raises InputError.

    A link stays a link: the file that it leads to is written. What is no file (a device, a pipe) is refused.
    """
    temporary = ""
    try:
        path = path.resolve()
        if is_there(path) and not path.is_file():
            raise InputError(msg("plan.not_a_place", file=str(path)))
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(plan_to_text(plan))
            file.flush()
            os.fsync(file.fileno())
        if is_there(path):
            Path(temporary).chmod(stat.S_IMODE(path.stat().st_mode))
        Path(temporary).replace(path)
    except (OSError, RuntimeError) as fault:  # a link that leads to itself
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise InputError(
            msg("plan.cannot_write", file=str(path), reason=getattr(fault, "strerror", None) or str(fault))
        ) from None


def _unreadable(path: Path, fault: OSError | ValueError) -> InputError:
    reason = getattr(fault, "strerror", None) or str(fault)
    return InputError(msg("plan.cannot_read", file=str(path)[:200], reason=reason))
