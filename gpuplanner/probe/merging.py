"""Joins what several outputs say of one machine. The first output that says a thing stands; nothing is averaged."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.record import Record

R = TypeVar("R", bound=Record)

_GPU_KEYS = ("uuid", "pci_bus_id", "index")
"""What names a GPU, the surest first. Two records with one of them alike and none different are of one GPU."""

_SINGLE = ("cpu", "memory", "limits", "system", "software")
_KEYED: dict[str, tuple[str, ...]] = {
    "mig_devices": ("gpu_index", "uuid", "device_index", "gpu_instance_id"),
    "processes": ("gpu_index", "gpu_uuid", "gpu_bus_id", "pid"),
    "nvlinks": ("gpu_index", "gpu_uuid", "gpu_bus_id", "link"),
    "pci": ("bus_id",),
    "network": ("name",),
    "ib_ports": ("adapter", "port"),
    "fabric_nodes": ("guid",),
    "disks": ("name",),
    "mounts": ("target",),
    "services": ("name",),
    "modules": ("name",),
}
"""Lists of things, and the fields that together name one of them."""


def merged(parts: Sequence[Evidence]) -> Evidence:
    """One evidence of all parts, the first having the say where two give one field."""
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {}
    for section in Evidence.model_fields:
        values = [getattr(part, section) for part in parts]
        if section == "looked_for":
            joined[section] = frozenset().union(*values)
        elif section in _SINGLE:
            found = [value for value in values if value is not None]
            joined[section] = _filled(found) if found else None
        else:
            records = [record for value in values for record in value]
            joined[section] = tuple(_list(section, records))
    return Evidence(**joined)


def _list(section: str, records: list[Any]) -> list[Any]:
    if section == "gpus":
        return gpus_joined(records)
    if section in _KEYED:
        return _by_key(records, _KEYED[section])
    return _distinct(records)


def gpus_joined(gpus: Iterable[Gpu]) -> list[Gpu]:
    """One record a GPU: those that share an identifier and contradict each other in none are of one GPU."""
    joined: list[Gpu] = []
    for gpu in gpus:
        at = next((at for at, known in enumerate(joined) if _same_gpu(known, gpu)), None)
        if at is None:
            joined.append(gpu)
        else:
            joined[at] = _filled([joined[at], gpu])
    return sorted(joined, key=lambda gpu: gpu.index if gpu.index is not None else len(joined))


def _same_gpu(one: Gpu, other: Gpu) -> bool:
    alike = False
    for key in _GPU_KEYS:
        mine, theirs = getattr(one, key), getattr(other, key)
        if mine is None or theirs is None:
            continue
        if mine != theirs:
            return False
        alike = True
    return alike


def _by_key(records: Iterable[R], keys: tuple[str, ...]) -> list[R]:
    groups: dict[tuple[Any, ...], list[R]] = {}
    for at, record in enumerate(records):
        named = tuple(getattr(record, key) for key in keys)
        groups.setdefault(named if any(part is not None for part in named) else (None, at), []).append(record)
    return [_filled(group) for group in groups.values()]


def _distinct(records: Iterable[R]) -> list[R]:
    """The same thing said twice, as by a file that was dropped twice, counts once."""
    kept: dict[str, R] = {}
    for record in records:
        kept.setdefault(repr(record.read()), record)
    return list(kept.values())


def _filled(records: Sequence[R]) -> R:
    """One record with each field from the first that has it; absent only what none has."""
    if len(records) == 1:
        return records[0]
    values: dict[str, Any] = {}
    seen: dict[str, Any] = {}
    absent: dict[str, Any] = {}
    for record in records:
        for name, value in record.read().items():
            if name not in values:
                values[name] = value
                if name in record.seen:
                    seen[name] = record.seen[name]
        for name, lack in record.absent.items():
            absent.setdefault(name, lack)
    kept = {name: lack for name, lack in absent.items() if name not in values}
    return type(records[0])(**values, seen=seen, absent=kept)
