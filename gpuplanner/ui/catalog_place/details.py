"""What the panel beside the table says of an entry: groups of facts, remarks, rules, offers, links. No Qt, no words.

A row holds facts or somebody's own text; the view shows values, bases and sources.
"""

from dataclasses import dataclass

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import Gpu, Instance, Model, Remark, Rule
from gpuplanner.facts import Source
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.catalog_place.gpu_details import gpu_groups
from gpuplanner.ui.catalog_place.instance_details import instance_groups
from gpuplanner.ui.catalog_place.model_details import model_groups
from gpuplanner.ui.catalog_place.offers import Offer, Offers
from gpuplanner.ui.catalog_place.rows import FactGroup
from gpuplanner.ui.catalog_place.tables import CatalogTable, EntryRef

WARNED = {"common-claim", "conflict", "basis", "per-pair", "per-board", "per-die", "name"}
"""The kinds of remarks that keep somebody from a mistake."""


@dataclass(frozen=True, slots=True)
class Details:
    """Everything that is said of one entry.

    `about` stands under the name; `warnings` and `notes` are its remarks; `gpus` are entries that an instance has, or
    may have; `sources` are those of what has none of its own (the layers of a model, the name of an instance);
    `plannable` tells whether a plan can be made with it.
    """

    ref: EntryRef
    name: str
    about: tuple[MessageValue, ...]
    groups: tuple[FactGroup, ...]
    warnings: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()
    rules: tuple[Rule, ...] = ()
    offers: tuple[Offer, ...] | None = None
    gpus: tuple[Gpu, ...] = ()
    sources: tuple[Source, ...] = ()
    plannable: bool = True


def details_of(catalog: Catalog, offers: Offers, ref: EntryRef) -> Details | None:
    """What is said of an entry, None when the catalog does not have it."""
    if ref.table is CatalogTable.GPUS:
        gpu = catalog.gpus.get(ref.id)
        return _of_gpu(catalog, offers, ref, gpu) if gpu is not None else None
    if ref.table is CatalogTable.INSTANCES:
        instance = catalog.instances.get(ref.id)
        return _of_instance(catalog, ref, instance) if instance is not None else None
    model = catalog.models.get(ref.id)
    return _of_model(ref, model) if model is not None else None


def _of_gpu(catalog: Catalog, offers: Offers, ref: EntryRef, gpu: Gpu) -> Details:
    capability = f"sm_{gpu.compute_capability.replace('.', '')}" if gpu.compute_capability[:1].isdigit() else ""
    about = (gpu.vendor, gpu.architecture, capability, gpu.release_date[:7])
    return Details(
        ref,
        gpu.name,
        tuple(part for part in about if part),
        gpu_groups(gpu),
        warnings=tuple(r for r in gpu.remarks if r.kind in WARNED),
        notes=tuple(r for r in gpu.remarks if r.kind not in WARNED),
        rules=_rules(catalog, gpu.id),
        offers=offers.of(gpu.id),
    )


def _of_instance(catalog: Catalog, ref: EntryRef, instance: Instance) -> Details:
    ids = (instance.gpu_id,) if instance.gpu_id else instance.gpu_may_be
    gpus = tuple(gpu for gpu_id in ids if (gpu := catalog.gpus.get(gpu_id)) is not None)
    notes: tuple[Remark, ...] = ()
    if instance.note and instance.source is not None:
        notes = (Remark("note", instance.note, instance.note_zh or instance.note, instance.source),)
    return Details(
        ref,
        instance.name,
        (instance.provider, instance.virtualization) if instance.virtualization else (instance.provider,),
        instance_groups(instance, gpus[0] if instance.gpu_id and gpus else None),
        notes=notes,
        rules=_rules(catalog, instance.gpu_id or ""),
        gpus=gpus,
        sources=(instance.source,) if instance.source is not None else (),
        plannable=bool(gpus) and instance.gpu_count is not None and instance.gpu_fraction is not None,
    )


def _of_model(ref: EntryRef, model: Model) -> Details:
    # Some licences are called as the family is.
    licence = model.licence if model.licence != model.family else ""
    notes: tuple[Remark, ...] = ()
    if model.note and model.sources:
        notes = (Remark("note", model.note, model.note_zh or model.note, model.sources[0]),)
    return Details(
        ref,
        model.name,
        tuple(part for part in (_kind(model.kind), model.family, licence) if part),
        model_groups(model),
        notes=notes,
        sources=model.sources,
        plannable=model.plannable,
    )


def _kind(kind: str) -> Message:
    return msg(f"model.kind.{kind}")


def _rules(catalog: Catalog, gpu_id: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in catalog.rules if gpu_id and gpu_id in rule.applies_to)
