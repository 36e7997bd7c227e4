"""What the pickers of this place offer: models, machines, and what the limits name. Knows no widget."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil
from typing import Any

from gpuplanner.catalog.entries import Gpu, GpuProperty, Model
from gpuplanner.catalog.names import Resolution
from gpuplanner.catalog.parameters import active_parameters, total_parameters
from gpuplanner.catalog.table.values import natural_key
from gpuplanner.engine.machines import named_choice
from gpuplanner.messages import InputError, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.palette.items import match
from gpuplanner.ui.plan_place.machines.machine_rows import row_id
from gpuplanner.ui.plan_place.picker import PickItem
from gpuplanner.ui.plan_place.wizard.fields import Control, Field
from gpuplanner.units import GIB, Unit
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import GpuSlice, MachineChoice
from gpuplanner.workload.wizard import DRAFTING_KINDS

MOST = 60
BEST = "best"
_COUNTED = re.compile(r"^\s*(\d{1,6})\s*(?:[x×*]\s*|\s)(.+)$", re.IGNORECASE)
_SLICE = re.compile(r"\d{1,2}g\.\d{1,4}gb", re.IGNORECASE)
_SIZE = re.compile(r"(?<![\d.])(\d{1,4})\s*gi?b")
_PER_NODE = 8
"""GPUs of a node that is bought, at most."""
_LEAST_OF_A_CLUSTER = 4
"""Nodes with fewer GPUs are not put together: nobody rents 64 machines of one GPU for a job of 64."""
_USUAL_COUNTS = (1, 2, 4, 8)


def model_items(
    models: Sequence[Model],
    query: str,
    appearance: Appearance,
    current: str,
    resolve: Callable[[str], Resolution],
) -> Sequence[PickItem]:
    """The models that a text finds, each with its size; before anything is typed the `current` one first.

    A name as it is published ("Qwen/Qwen2.5-32B-Instruct") finds the model of that architecture.
    """
    scored = [(match(query, m.name, m.id, m.family, *m.aliases), m) for m in models]
    found = [(score, model) for score, model in scored if score > 0]
    typed = bool(query.strip())
    if typed and not found:
        named = resolve(query).id
        found = [(1.0, model) for model in models if model.id == named]
    found.sort(key=lambda pair: (-pair[0] if typed else pair[1].id != current, natural_key(pair[1].name)))
    return [
        PickItem(model.id, model.name, str(appearance.show(model.parameters.value, Unit.PARAMETER)))
        for _, model in found[:MOST]
    ]


def model_size(choice: ModelChoice, catalog: Any, appearance: Appearance) -> str:
    """How large a chosen model is, with the active parameters where they are fewer."""
    model = catalog.models.get(choice.catalog_id) if catalog is not None and choice.catalog_id else None
    if choice.architecture is not None:
        total: float = total_parameters(choice.architecture)
        active: float = active_parameters(choice.architecture)
    elif model is not None:
        total = model.parameters.value
        active = model.active_parameters.value if model.active_parameters else total
    else:
        return ""
    shown = str(appearance.show(total, Unit.PARAMETER))
    if active < 0.95 * total:
        return f"{shown} · {appearance.show(active, Unit.PARAMETER)}"
    return shown


def machine_items(
    catalog: Any, query: str, appearance: Appearance, resolve: Callable[[str], Resolution]
) -> Sequence[PickItem]:
    """The machines that a text finds: the best of the search, MIG slices, bare GPUs ("4 × H100"), and offers."""
    items = [PickItem(BEST, appearance.text("planui.machine.best_found"))] if not query.strip() else []
    if catalog is None:
        return items
    items += _slice_items(catalog, query, appearance, resolve)
    counted = _COUNTED.match(query)
    count, wanted = (int(counted[1]), counted[2]) if counted else (0, query)
    gpus = sorted(
        ((match(wanted, g.name, g.id, *g.aliases), g) for g in catalog.gpus.values()), key=lambda pair: -pair[0]
    )
    for score, gpu in gpus[:12]:
        if score > 0 and wanted.strip():
            size = memory_size(gpu, appearance)
            for number in (count,) if count else _USUAL_COUNTS:
                each = min(number, _PER_NODE)
                choice = MachineChoice(gpu_id=gpu.id, gpus=number, per_node=each)
                nodes = ceil(number / each)
                bought = (
                    msg("planui.machine.bought")
                    if nodes == 1
                    else msg("planui.machine.bought_nodes", nodes=nodes, gpus=each)
                )
                items.append(PickItem(row_id(choice), f"{number} × {gpu.name}", appearance.text(bought), size))
    return [*items, *_offer_items(catalog, wanted, count)]


def _offer_items(catalog: Any, wanted: str, count: int) -> list[PickItem]:
    """The offers that a text finds, fewest nodes first; `count` (0: none typed) of nodes or of GPUs.

    Before the name of an instance it counts nodes, before that of a GPU the GPUs of all nodes together.
    """
    offers = []
    for instance in catalog.instances.values():
        gpu_name = catalog.gpus[instance.gpu_id].name if instance.gpu_id in catalog.gpus else instance.gpu_text
        name = f"{instance.provider} {instance.name}"
        score = match(wanted, f"{name} {gpu_name}")
        if score <= 0:
            continue
        named = match(wanted, name) > 0 and match(wanted, gpu_name) <= 0
        nodes = (count or 1) if named else _nodes_of(instance.gpu_count, count)
        if nodes:
            offers.append((nodes, -score, instance, gpu_name))
    offers.sort(key=lambda offer: offer[:2])
    items = []
    for nodes, _, instance, gpu_name in offers[:MOST]:
        gpus_text = f"{nodes * instance.gpu_count} × {gpu_name}" if instance.gpu_count else gpu_name
        name = f"{instance.provider} {instance.name}"
        choice = MachineChoice(instance_id=instance.id, nodes=nodes)
        items.append(PickItem(row_id(choice), name if nodes == 1 else f"{nodes} × {name}", gpus_text))
    return items


def _nodes_of(each: int | None, gpus: int) -> int:
    """How many nodes of `each` GPUs make up so many; 0 where they do not or are too small."""
    if not gpus:
        return 1
    if not each or gpus % each or (each < _LEAST_OF_A_CLUSTER and each != gpus):
        return 0
    return gpus // each


def _slice_items(
    catalog: Any, query: str, appearance: Appearance, resolve: Callable[[str], Resolution]
) -> list[PickItem]:
    """The slice of a GPU that a text names as tools print it ("A100 80GB 3g.40gb", "2x H100 1g.10gb").

    Where several GPUs may be meant, each of them that can be divided so.
    """
    profile = _SLICE.search(query)
    if profile is None:
        return []
    counted = _COUNTED.match(query)
    count, wanted = (int(counted[1]), counted[2]) if counted else (1, query)
    found = resolve(wanted)
    meant = [found]
    if found.id is None:
        names = [catalog.gpus[c.id].name for c in found.candidates if c.id in catalog.gpus]
        meant = [resolve(f"{name} {profile[0]}") for name in names]
    items = []
    for one in meant:
        with suppress(InputError):
            choice = named_choice(one, count)
            if choice.slice is not None:
                title = f"{choice.gpus} × {one.name} MIG {choice.slice.profile}"
                items.append(PickItem(row_id(choice), title, appearance.text("planui.machine.bought")))
    return items


def choice_of_row(item_id: str) -> MachineChoice | None:
    """The machine that an item stands for, None for the best of the search."""
    kind, _, rest = item_id.partition("/")
    if kind == "instance":
        name, _, nodes = rest.rpartition("/")
        return MachineChoice(instance_id=name, nodes=int(nodes))
    if kind == "slice":
        name, gpus, profile, compute, memory = rest.rsplit("/", 4)
        shares = {"compute": compute.replace(":", "/"), "memory": memory.replace(":", "/")}
        return MachineChoice(gpu_id=name, gpus=int(gpus), slice=GpuSlice(profile=profile, **shares))
    if kind == "gpu":
        name, gpus, per_node = rest.rsplit("/", 2)
        return MachineChoice(gpu_id=name, gpus=int(gpus), per_node=int(per_node))
    return None


def limit_items(field: Field, catalog: Any, query: str, appearance: Appearance) -> Sequence[PickItem]:
    """What a limit of several can name: providers, regions, GPUs with their memory, each with how many offers."""
    if catalog is None:
        return ()
    if field.control is Control.DRAFT:
        return _draft_items(catalog, query, appearance)
    counts: dict[str, int] = {}
    for instance in catalog.instances.values():
        match field.name:
            case "providers":
                names = {instance.provider}
            case "regions":
                names = {price.region for price in instance.prices if price.region}
            case _:
                names = {instance.gpu_id} if instance.gpu_id else set()
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    sizes: dict[str, str] = {}
    searched = {name: (name,) for name in counts}
    if field.control is Control.GPU or field.name == "gpus":
        titles = {gpu.id: gpu.name for gpu in catalog.gpus.values()}
        counts = {gpu_id: counts.get(gpu_id, 0) for gpu_id in titles}
        sizes = {gpu.id: memory_size(gpu, appearance) for gpu in catalog.gpus.values()}
        searched = {gpu.id: (gpu.name, gpu.id, *gpu.aliases, _size_words(gpu)) for gpu in catalog.gpus.values()}
    else:
        titles = {name: name for name in counts}
    found = [(item_id, count) for item_id, count in counts.items() if _finds(query, *searched[item_id])]
    found.sort(key=lambda pair: (-pair[1], titles[pair[0]].casefold()))
    return [
        PickItem(item_id, titles[item_id], str(count) if count else "", sizes.get(item_id, ""))
        for item_id, count in found
    ]


def _draft_items(catalog: Any, query: str, appearance: Appearance) -> Sequence[PickItem]:
    """The language models of the catalog that a text finds, small ones first: they can draft for larger ones."""
    decoders = [m for m in catalog.models.values() if m.kind in DRAFTING_KINDS and m.architecture is not None]
    found = [m for m in decoders if match(query, m.name, m.id, m.family, *m.aliases) > 0]
    found.sort(key=lambda model: (model.parameters.value, natural_key(model.name)))
    return [PickItem(m.id, m.name, str(appearance.show(m.parameters.value, Unit.PARAMETER))) for m in found]


def memory_size(gpu: Gpu, appearance: Appearance) -> str:
    """How much memory a GPU has; empty when that is not known."""
    memory = gpu.known(GpuProperty.MEMORY_BYTES)
    return str(appearance.show(memory.value, Unit.BYTE)) if memory is not None else ""


def _size_words(gpu: Gpu) -> str:
    """The size as people type it, with and without a gap: datasheets say GB and mean GiB."""
    memory = gpu.known(GpuProperty.MEMORY_BYTES)
    size = f"{memory.value / GIB:.0f}" if memory is not None else ""
    return f"{size}GB {size} GB {size}GiB {size} GiB {gpu.name}" if size else gpu.name


def _finds(query: str, *texts: str) -> bool:
    """Whether one of the texts has what is typed; a size is found as a whole: 4GB is not 24GB."""
    sizes = set(_SIZE.findall(query.lower()))
    if sizes:
        return any(sizes <= set(_SIZE.findall(text.lower())) for text in texts) and match(query, *texts) > 0
    return match(query, *texts) > 0
