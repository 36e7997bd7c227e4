"""A live session as bytes, to keep and to show again: the bins of every series, the marks, who computed. Pure.

The bytes may be a stranger's: they hold arrays of numbers and JSON only, and what does not fit together is refused.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from gpuplanner.messages import InputError, msg
from gpuplanner.probe.telemetry import (
    GPU_METRICS,
    HOST_METRICS,
    MOST_BINS_S,
    MOST_GPUS,
    MOST_MARKS,
    MOST_PROCESSES,
    Floats,
    Mark,
    Process,
    Series,
    Telemetry,
)

VERSION = 1
MOST_BYTES = 200_000_000
"""Unpacked; what claims to be larger is not looked at."""
_ABOUT = "about.json"
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, AttributeError, EOFError, OSError, RecursionError,
    NotImplementedError, RuntimeError, OverflowError, MemoryError,
)  # fmt: skip
"""What reading a damaged archive, its JSON or its arrays raises. In the last line zipfile's are the first two, for ways
of packing that it does not know and for encryption; numpy's the others, for shapes that a header claims.
"""


@dataclass(frozen=True, slots=True)
class LiveSession:
    """What was seen. `began`: when, as ISO 8601 in UTC. `gpus`: name by index. `target`: what the person called it."""

    target: str
    began: str
    telemetry: Telemetry
    gpus: Mapping[int, str] = field(default_factory=dict)


def to_bytes(session: LiveSession) -> bytes:
    """The session packed."""
    telemetry = session.telemetry
    arrays: dict[str, Floats] = {}
    for (gpu, name), series in telemetry.series.items():
        whose = "host" if gpu is None else gpu
        arrays[f"{whose}.{name}"] = np.array(series.bins(), dtype=np.float32)
    about = {
        "gpuplanner_live": VERSION,
        "target": session.target,
        "began": session.began,
        "ended_s": telemetry.ended_s,
        "tells_throttling": telemetry.tells_throttling,
        "gpus": {str(gpu): name for gpu, name in session.gpus.items()},
        "marks": [asdict(mark) for mark in telemetry.marks],
        "lost": sorted(telemetry.lost),
        "processes": {str(gpu): [asdict(one) for one in found] for gpu, found in telemetry.processes.items()},
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_ABOUT, json.dumps(about))
        for key, array in arrays.items():
            raw = io.BytesIO()
            np.save(raw, array, allow_pickle=False)
            archive.writestr(f"{key}.npy", raw.getvalue())
    return packed.getvalue()


def of_bytes(packed: bytes) -> LiveSession:
    """The session that was packed. Raises InputError where the bytes are none."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            if sum(info.file_size for info in archive.infolist()) > MOST_BYTES:
                raise InputError(msg("live.session.too_large"))
            about = json.loads(archive.read(_ABOUT))
            if not isinstance(about, dict) or about.get("gpuplanner_live") != VERSION:
                raise InputError(msg("live.session.unknown"))
            telemetry = _telemetry(about)
            for info in archive.infolist():
                if info.filename.endswith(".npy"):
                    array = np.load(io.BytesIO(archive.read(info)), allow_pickle=False)
                    _put(telemetry, info.filename.removesuffix(".npy"), array)
            gpus = {int(gpu): str(name)[:200] for gpu, name in about["gpus"].items() if gpu.isdecimal()}
            target, began = str(about["target"])[:200], str(about["began"])[:40]
            # It goes into tables for spreadsheets as it is.
            datetime.fromisoformat(began)
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(msg("live.session.unknown")) from error
    return LiveSession(target, began, telemetry, gpus)


def _telemetry(about: Mapping[str, Any]) -> Telemetry:
    telemetry = Telemetry(ended_s=float(about["ended_s"]), tells_throttling=about["tells_throttling"] is True)
    if not 0 <= telemetry.ended_s < MOST_BINS_S:
        raise ValueError(about["ended_s"])
    for mark in about["marks"][-MOST_MARKS:]:
        xid = mark["xid"]
        telemetry.marks.append(
            Mark(float(mark["at_s"]), int(mark["gpu"]), int(mark["reasons"]), None if xid is None else int(xid))
        )
    telemetry.lost.update(int(gpu) for gpu in about["lost"][:MOST_GPUS])
    for gpu, found in list(about["processes"].items())[:MOST_GPUS]:
        telemetry.processes[int(gpu)] = tuple(
            Process(
                int(one["pid"]),
                None if one["used_bytes"] is None else int(one["used_bytes"]),
                str(one["name"])[:64],
            )
            for one in found[:MOST_PROCESSES]
        )
    return telemetry


def _put(telemetry: Telemetry, key: str, array: Any) -> None:
    """Fill a series with the bins that were kept; a name that is no metric is left out."""
    whose, _, name = key.partition(".")
    gpu = None if whose == "host" else int(whose)
    if name not in (HOST_METRICS if gpu is None else GPU_METRICS) or (gpu is not None and not 0 <= gpu < MOST_GPUS):
        return
    if array.ndim != 2 or array.shape[0] != 4 or not np.issubdtype(array.dtype, np.floating):
        raise ValueError(key)
    series = Series()
    for at_s, low, mean, high in array.T.tolist():
        # A mean may have been rounded past an end.
        series.add_bin(at_s, min(low, mean), mean, max(high, mean))
    telemetry.series[gpu, name] = series
