"""A person's own measurements in the folder `measurements` of their data folder, a JSON file each. Written whole.

A file that cannot be used is passed over and said; it never stops anything.
"""

import contextlib
import hashlib
import json
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpuplanner.engine.own_links import OwnLink
from gpuplanner.engine.own_measurements import Own, OwnMeasurement
from gpuplanner.engine.own_parts import OwnParts
from gpuplanner.messages import InputError, Message, is_text, msg, on_one_line, shortened
from gpuplanner.paths import is_there
from gpuplanner.workload.plan import Plan

FORMAT, LINK_FORMAT, PARTS_FORMAT = "gpuplan-measurement/1", "gpuplan-link/1", "gpuplan-parts/1"
FOLDER = "measurements"
LINK_NUMBERS = ("bus_bytes_per_s", "message_bytes", "ranks")
LARGEST_BYTES = 2_000_000
MOST_FILES = 1_000
MOST_NAMED = 5
_ID = re.compile(r"[0-9a-f]{8}")


def new_id(name: str, of: Plan | str, measured: dict[str, float]) -> str:
    """The id of a measurement: the same content has the same one. `of`: the plan, or the machine of measured links."""
    said = of if isinstance(of, str) else of.model_dump(mode="json")
    content = json.dumps([name, said, sorted(measured.items())], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:8]


def read_own(home: Path) -> tuple[tuple[Own, ...], tuple[Message, ...]]:
    """All measurements of a data folder by their ids, and what is wrong with those that cannot be used."""
    folder = home / FOLDER
    if not is_there(folder):
        return (), ()
    found: list[Own] = []
    wrong: list[Message] = []
    try:
        inside = sorted(path for path in folder.iterdir() if not _is_aside(path))
    except OSError as fault:
        return (), (_unreadable(folder, fault),)
    paths = [path for path in inside if _is_name(path)][:MOST_FILES]
    strange = [path for path in inside if not _is_name(path)]
    if strange:
        names = shortened(", ".join(on_one_line(path.name) for path in strange[:MOST_NAMED]), 200)
        wrong.append(msg("own.not_by_us", files=names, count=len(strange), folder=_shown(folder)))
    for path in paths:
        try:
            found.append(_read(path))
        except InputError as error:
            wrong.append(error.message)
    return tuple(found), tuple(wrong)


def _is_name(path: Path) -> bool:
    return path.suffix == ".json" and _ID.fullmatch(path.stem) is not None


def _is_aside(path: Path) -> bool:
    """What a system puts into folders, and what is being written just now."""
    return path.name.startswith(".") or path.suffix == ".part" or path.name.lower() in {"desktop.ini", "thumbs.db"}


def keep_own(home: Path, measurement: Own) -> None:
    """Keep a measurement. Raises InputError when the disk does not take it."""
    content: dict[str, Any] = {"name": measurement.name, "date": measurement.date, "site": measurement.site}
    content["used"] = measurement.used
    if isinstance(measurement, OwnLink):
        measured = {name: getattr(measurement, name) for name in LINK_NUMBERS}
        content |= {"format": LINK_FORMAT, "measured": measured}
    elif isinstance(measurement, OwnParts):
        content |= {"format": PARTS_FORMAT, "measured": dict(measurement.rates)}
    else:
        plan = measurement.plan.model_dump(mode="json")
        content |= {"format": FORMAT, "measured": dict(measurement.measured), "plan": plan}
    path = _path(home, measurement.id)
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            json.dump(content, file, ensure_ascii=False, indent=2)
        Path(temporary).replace(path)
    except OSError as fault:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise InputError(msg("own.cannot_keep", file=str(path), reason=fault.strerror or str(fault))) from None


def switch_own(home: Path, measurement_id: str, *, used: bool) -> Own:
    """Use a kept measurement, or leave it out until it is used again; gives it back as it is now.

    Raises InputError when there is none of that id, or the disk does not take the change.
    """
    if not _ID.fullmatch(measurement_id) or not is_there(_path(home, measurement_id)):
        raise InputError(msg("own.no_such", id=shortened(measurement_id, 40)))
    switched = replace(_read(_path(home, measurement_id)), used=used)
    keep_own(home, switched)
    return switched


def remove_own(home: Path, measurement_id: str) -> None:
    """Forget a measurement. Raises InputError when there is none of that id, or it cannot be removed."""
    path = _path(home, measurement_id)
    if not _ID.fullmatch(measurement_id) or not is_there(path):
        raise InputError(msg("own.no_such", id=shortened(measurement_id, 40)))
    try:
        path.unlink()
    except OSError as fault:
        raise InputError(msg("own.cannot_keep", file=str(path), reason=fault.strerror or str(fault))) from None


def _path(home: Path, measurement_id: str) -> Path:
    return home / FOLDER / f"{measurement_id}.json"


def _read(path: Path) -> Own:
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(LARGEST_BYTES).decode("utf-8-sig"))
        return _measurement(path.stem, content)
    except OSError as fault:
        raise InputError(_unreadable(path, fault)) from None
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        ValidationError,
        InputError,
    ):
        raise InputError(msg("own.not_one", file=path.name, folder=_shown(path.parent))) from None


def _unreadable(path: Path, fault: OSError) -> Message:
    reason = fault.strerror or str(fault)
    return msg("own.cannot_read", file=path.name, folder=_shown(path.parent), reason=reason)


def _shown(folder: Path) -> str:
    return shortened(on_one_line(str(folder)), 200)


def _measurement(measurement_id: str, content: dict[str, Any]) -> Own:
    """Raises one of the errors that `_read` takes for a file that is no measurement."""
    if content["format"] not in {FORMAT, LINK_FORMAT, PARTS_FORMAT}:
        raise ValueError(content["format"])
    measured = {str(name): float(value) for name, value in content["measured"].items()}
    if not measured or not all(0 < value < float("inf") for value in measured.values()):
        raise ValueError(measured)
    name, date, site, used = str(content["name"]), str(content["date"]), str(content["site"]), content.get("used", True)
    if not isinstance(used, bool):
        raise TypeError(used)
    if not is_text(name + date + site):
        raise ValueError(name)
    if content["format"] == LINK_FORMAT:
        numbers = {number: measured[number] for number in LINK_NUMBERS}
        return OwnLink(measurement_id, name, date, site, **numbers, used=used)
    if content["format"] == PARTS_FORMAT:
        return OwnParts(measurement_id, name, date, site, measured, used=used)
    plan = Plan.model_validate(content["plan"])
    return OwnMeasurement(measurement_id, name, date, plan, site, measured, used)
