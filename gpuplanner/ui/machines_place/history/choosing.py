"""What can be chosen for a machine: what it is held against, and which host. Searches what is there; no widget."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from gpuplanner.messages import InputError, msg
from gpuplanner.store.plans import PlanShelf
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.palette.items import match
from gpuplanner.ui.plan_place.picker import PickItem

_MOST = 40
_COUNTED = re.compile(r"^\s*(\d{1,4})\s*(?:[x×*]\s*|\s)(.+)$", re.IGNORECASE)
_USUAL_COUNTS = (1, 8)


def expected_items(workspace: Any, query: str, appearance: Appearance) -> Sequence[PickItem]:
    """What a machine can be held against: the person's plans, instances, GPUs by their count, presets.

    The id of each is the text that says so. Of an empty query the plans, after nothing at all.
    """
    items = [PickItem("", appearance.text("runsui.expected.itself"))] if not query.strip() else []
    items += _plans(workspace, query, appearance)
    if query.strip():
        found = sorted(_catalog(workspace.catalog, query, appearance), key=lambda pair: -pair[0])
        items += [item for _, item in found[:_MOST]]
    return [*items, *_presets(workspace, query, appearance)]


def host_items(names: Sequence[str], query: str) -> Sequence[PickItem]:
    """Hosts whose name has what is typed."""
    found = sorted(((match(query, name), name) for name in names), key=lambda pair: (-pair[0], pair[1]))
    return [PickItem(name, name) for score, name in found[:_MOST] if score > 0]


def _plans(workspace: Any, query: str, appearance: Appearance) -> list[PickItem]:
    try:
        names = [plan.name for plan in PlanShelf(workspace.store).listed() if plan.name]
    except InputError:
        return []
    note = appearance.text("runsui.expected.plan")
    return [PickItem(name, name, note) for name in dict.fromkeys(names) if match(query, name) > 0][:_MOST]


def _presets(workspace: Any, query: str, appearance: Appearance) -> list[PickItem]:
    """Presets that name a machine: of others nothing can be expected."""
    note = appearance.text("runsui.expected.preset")
    return [
        PickItem(name, appearance.text(f"preset.{name}"), note)
        for name, plan in workspace.presets.items()
        if plan.machine is not None and match(query, name, *appearance.texts(msg(f"preset.{name}"))) > 0
    ]


def _catalog(catalog: Any, query: str, appearance: Appearance) -> Iterator[tuple[float, PickItem]]:
    counted = _COUNTED.match(query)
    wanted = counted[2] if counted else query
    counts = (int(counted[1]),) if counted else _USUAL_COUNTS
    for gpu in catalog.gpus.values():
        score = match(wanted, gpu.name, gpu.id, *gpu.aliases)
        if score > 0:
            yield from ((score - 0.001 * at, _gpu(count, gpu)) for at, count in enumerate(counts))
    note = appearance.text("runsui.expected.instance")
    for instance in catalog.instances.values():
        name = f"{instance.provider} {instance.name}"
        score = match(query, name, instance.name)
        if score > 0:
            gpus = f"{instance.gpu_count or ''} × {instance.gpu_text}".strip(" ×")
            yield score, PickItem(name, name, note, gpus)


def _gpu(count: int, gpu: Any) -> PickItem:
    name = gpu.name if count == 1 else f"{count} × {gpu.name}"
    return PickItem(name, name)
