"""Resolves the names that tools, clouds and people print to entries of the catalog, or refuses them with the reason.

Never guesses: a name that fits several is ambiguous, one that fits none is refused with those that look like it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.names import explaining
from gpuplanner.catalog.names.gpu_names import GpuMatch, GpuNames
from gpuplanner.catalog.names.instance_names import InstanceMatch, InstanceNames
from gpuplanner.catalog.names.model_names import ModelNames
from gpuplanner.catalog.names.nearest import Nearest
from gpuplanner.catalog.names.resolution import Candidate, Kind, Resolution, Share, Slice, Technology
from gpuplanner.catalog.names.slices import MigName, VgpuName, VgpuNames, mig_name, mig_share
from gpuplanner.catalog.names.spelling import (
    LONGEST_NAME,
    clean,
    counted,
    join,
    spell_gpu,
    split,
    without_parentheses,
)
from gpuplanner.catalog.names.tables import NameTables
from gpuplanner.messages import Message, msg

_LIST = re.compile(r"\s+/\s+|\s*[|;、，,+]\s*|\s+(?:or|vs\.?|and)\s+|\s*(?:或者?|和|与)\s*", re.IGNORECASE)
_LONGEST_LIST = 12
# From this likeness on, what a refused name was meant to be is clear enough to say its kind.
_CLEARLY_LIKE = 0.7
_NEAREST = 5


class Names:
    """All names of one catalog. Building it takes a while: keep it as long as the catalog."""

    def __init__(self, catalog: Catalog, tables: NameTables) -> None:
        self._catalog = catalog
        self._words = tables.words
        self._tables = tables
        self._gpus = GpuNames(catalog.gpus, tables)
        self._vgpus = VgpuNames(tables)
        self._instances = InstanceNames(catalog.instances, tables)
        self._models = ModelNames(catalog.models, tables)
        self._nearest = Nearest(self._all_names())
        words = tables.words
        self._said_around = words.claims | words.filler | words.context

    def resolve(self, text: str, *, kind: Kind | str | None = None, memory_bytes: float | None = None) -> Resolution:
        """What a name means. `kind` limits it; `memory_bytes`, as a tool measured it, decides among sizes.

        Raises ValueError for a kind that does not exist; no text makes it raise.
        """
        wanted = None if kind is None else Kind(kind)
        if len(text) > LONGEST_NAME:
            return Resolution(text, wanted, None, None, msg("names.refused.too_long", longest=LONGEST_NAME))
        name = clean(text, self._words.phrases)
        if not any(c.isalnum() for c in name):
            return Resolution(text, wanted, None, None, msg("names.refused.empty"))
        if by_id := self._by_id(text, wanted):
            return by_id
        answer = self._single(text, name, wanted, memory_bytes)
        if answer.id is None and not answer.candidates:
            answer = self._list(text, wanted, memory_bytes) or self._claim(text, name, wanted, memory_bytes) or answer
        if answer.id and answer.count == 0:
            meant = (Candidate(answer.kind or Kind.GPU, answer.id, answer.name or answer.id),)
            return Resolution(text, answer.kind, None, None, msg("names.refused.none", query=_shown(text)), None, meant)
        return answer if answer.id or answer.candidates else self._with_nearest(answer, name, wanted)

    def mig_profiles(self, gpu_id: str) -> Mapping[str, tuple[Fraction, Fraction]]:
        """The MIG profiles of a GPU, each with its share of compute and of memory; empty where it has none."""
        known = self._tables.mig.get(gpu_id)
        return known.shares if known else {}

    def vgpu_boards(self, gpu_id: str) -> tuple[str, ...]:
        """What vGPU types call a GPU ("A100DX"); empty where nothing is known of it."""
        return tuple(board for board, gpu in self._tables.vgpu_boards.items() if gpu == gpu_id)

    def _by_id(self, text: str, wanted: Kind | None) -> Resolution | None:
        """The entry whose id in the catalog the text is."""
        entry_id = text.strip()
        if wanted in {None, Kind.GPU} and entry_id in self._catalog.gpus:
            return self._of_gpus(text, GpuMatch((entry_id,)))
        if wanted in {None, Kind.MODEL} and entry_id in self._catalog.models:
            return self._of_models(text, (entry_id,))
        if wanted in {None, Kind.INSTANCE} and entry_id in self._catalog.instances:
            return self._of_instances(text, InstanceMatch((entry_id,)))
        return None

    def _single(self, text: str, name: str, wanted: Kind | None, memory_bytes: float | None) -> Resolution:
        """The answer to a text read as one name; refused without candidates when nothing is known by it."""
        instance = self._instances.match(name) if wanted in {None, Kind.INSTANCE} else None
        if instance and (wanted or not instance.generic):
            return self._of_instances(text, instance)
        if wanted in {None, Kind.GPU} and (answer := self._gpu(text, name, memory_bytes)):
            return answer
        if wanted in {None, Kind.MODEL} and (ids := self._models.match(name)):
            return self._of_models(text, ids)
        if instance is None and wanted in {None, Kind.INSTANCE}:
            instance = self._instances.match(without_parentheses(name)) or self._instances.within(
                name, self._said_around
            )
        if instance:
            return self._of_instances(text, instance)
        count, one = counted(name)
        if count is not None and wanted in {None, Kind.INSTANCE} and (instance := self._instances.match(one.strip())):
            return replace(self._of_instances(text, instance), count=count)
        return Resolution(text, wanted, None, None, msg("names.refused.unknown", query=_shown(text)))

    def _gpu(self, text: str, name: str, memory_bytes: float | None) -> Resolution | None:
        if self._is_placeholder(name):
            return Resolution(text, Kind.GPU, None, None, msg("names.refused.placeholder", query=_shown(text)))
        count, one = counted(name)
        if vgpu := self._vgpus.find(" ".join(one.split())):
            return self._vgpu(text, vgpu, count)
        if mig := mig_name(name):
            return self._mig(text, mig)
        match = self._gpus.match(name, memory_bytes)
        return None if match is None else self._of_gpus(text, match)

    def _of_gpus(self, text: str, match: GpuMatch) -> Resolution:
        names = self._catalog.gpus
        if len(match.ids) != 1 or match.sizes_gb:
            candidates = self._candidates(Kind.GPU, match.ids or match.near)
            reason = explaining.several_gpus(
                _shown(text), match, [self._gpus.traits(i) for i in match.ids or match.near]
            )
            return Resolution(text, Kind.GPU, None, None, reason, candidates=candidates, count=match.count)
        gpu = names[match.ids[0]]
        share = Share(match.part.share, match.part.share) if match.part else None
        part = Slice(Technology.DIE, match.part.name.upper()) if match.part else None
        reason = explaining.gpu(gpu, match)
        return Resolution(text, Kind.GPU, gpu.id, gpu.name, reason, share, slice=part, count=match.count)

    def _mig(self, text: str, mig: MigName) -> Resolution:
        parents = self._gpus.match(mig.parent) if mig.parent else None
        if parents is None:
            return self._mig_without_parent(text, mig)
        if not parents.ids:
            return self._of_gpus(text, parents)
        shares = {i: share for i in parents.ids if (p := self._tables.mig.get(i)) and (share := mig_share(mig, p))}
        if len(shares) != 1:
            ids = tuple(shares) or parents.ids
            traits = [self._gpus.traits(i) for i in ids]
            known = sorted({name for i in ids if i in self._tables.mig for name in self._tables.mig[i].shares})
            reason = (
                explaining.several_gpus(_shown(text), GpuMatch(ids), traits)
                if shares
                else explaining.no_such_mig(explaining.listed([t.gpu.name for t in traits]), mig.profile, known)
            )
            candidates = self._candidates(Kind.GPU, ids)
            return Resolution(text, Kind.GPU, None, None, reason, candidates=candidates, count=parents.count)
        [(gpu_id, share)] = shares.items()
        gpu = self._catalog.gpus[gpu_id]
        profile = f"{mig.compute_instance}c.{mig.profile}" if mig.compute_instance else mig.profile
        reason = explaining.mig(gpu, profile, share, shared=bool(mig.compute_instance))
        part = Slice(Technology.MIG, profile)
        return Resolution(text, Kind.GPU, gpu.id, gpu.name, reason, share, slice=part, count=parents.count)

    def _mig_without_parent(self, text: str, mig: MigName) -> Resolution:
        if mig.parent and spell_gpu(mig.parent, self._words).core:
            unknown = msg("names.refused.mig_unknown_parent", profile=mig.profile, parent=_shown(mig.parent))
            return Resolution(text, Kind.GPU, None, None, unknown)
        having = (i for i, p in self._tables.mig.items() if i in self._catalog.gpus and mig_share(mig, p))
        reason = msg("names.refused.mig_parent", profile=mig.profile)
        return Resolution(text, Kind.GPU, None, None, reason, candidates=self._candidates(Kind.GPU, having))

    def _vgpu(self, text: str, vgpu: VgpuName, count: int | None) -> Resolution | None:
        gpu = self._catalog.gpus.get(vgpu.gpu)
        sizes_gb = self._gpus.traits(vgpu.gpu).sold_gb if gpu else ()
        if gpu is None or not sizes_gb:
            return None
        share = self._vgpus.share(vgpu, sizes_gb[0])
        if share is None:
            reason = msg("names.refused.vgpu_size", profile=vgpu.label, name=gpu.name)
            return Resolution(text, Kind.GPU, None, None, reason, candidates=self._candidates(Kind.GPU, (gpu.id,)))
        technology = Technology.VGPU_ON_MIG if vgpu.mig_slices else Technology.VGPU
        divided = Slice(technology, vgpu.label, vgpu.series.upper())
        reason = explaining.vgpu(gpu, divided, share)
        return Resolution(text, Kind.GPU, gpu.id, gpu.name, reason, share, slice=divided, count=count)

    def _of_instances(self, text: str, match: InstanceMatch) -> Resolution:
        if len(match.ids) != 1:
            candidates = self._candidates(Kind.INSTANCE, match.ids)
            providers = explaining.listed(sorted({self._instances[i].provider for i in match.ids}))
            reason = msg("names.ambiguous.instances", query=_shown(text), providers=providers)
            return Resolution(text, Kind.INSTANCE, None, None, reason, candidates=candidates)
        instance = self._instances[match.ids[0]]
        part = instance.gpu_fraction
        share = Share(part, part) if part is not None and part < 1 else None
        name = f"{instance.provider} {instance.name}"
        return Resolution(text, Kind.INSTANCE, instance.id, name, explaining.instance(instance), share)

    def _of_models(self, text: str, ids: tuple[str, ...]) -> Resolution:
        if len(ids) != 1:
            reason = msg("names.ambiguous.models", query=_shown(text), count=len(ids))
            return Resolution(text, Kind.MODEL, None, None, reason, candidates=self._candidates(Kind.MODEL, ids))
        model = self._catalog.models[ids[0]]
        return Resolution(text, Kind.MODEL, model.id, model.name, msg("names.model", name=model.name))

    def _list(self, text: str, wanted: Kind | None, memory_bytes: float | None) -> Resolution | None:
        """The answers to a text that lists several names; None when it does not."""
        for whole in dict.fromkeys((text, without_parentheses(text))):
            texts = [part for part in _LIST.split(whole) if part and any(c.isalnum() for c in part)]
            if not 1 < len(texts) <= _LONGEST_LIST:
                continue
            names = [clean(part, self._words.phrases) for part in texts]
            parts = tuple(self._single(*part, wanted, memory_bytes) for part in zip(texts, names, strict=True))
            if all(map(self._is_placeholder, names)):
                return replace(parts[0], query=text)
            if not any(part.id or part.candidates for part in parts):
                continue
            kinds = {part.kind for part in parts if part.id or part.candidates}
            if len({part.id for part in parts}) == 1 and parts[0].id:
                return replace(parts[0], query=text, count=None, parts=parts)
            reason = msg("names.ambiguous.list", count=len(parts), names=explaining.listed([*map(_shown, texts)]))
            kind = next(iter(kinds)) if len(kinds) == 1 else None
            return Resolution(text, kind, None, None, reason, candidates=tuple(_every(parts)), parts=parts)
        return None

    def _is_placeholder(self, name: str) -> bool:
        return name in self._words.placeholders

    def _claim(self, text: str, name: str, wanted: Kind | None, memory_bytes: float | None) -> Resolution | None:
        """The answer to a text that goes on to say something about what it names: "A100 80GB FP16 = 780 TFLOPS"."""
        tokens = name.split()
        for place in range(1, len(tokens)):
            if tokens[place] == "=" or not self._words.claims.isdisjoint(split(tokens[place])[:1]):
                subject = " ".join(tokens[:place])
                answer = replace(self._single(subject, subject, wanted, memory_bytes), query=text)
                if (answer.id or answer.candidates) and answer.kind is Kind.GPU and answer.fraction is None:
                    whole = self._gpus.match(" ".join(t for t in tokens if t not in self._words.claims), memory_bytes)
                    if whole and whole.part:
                        return self._of_gpus(text, whole)
                return answer if answer.id or answer.candidates else None
        return None

    def _with_nearest(self, refused: Resolution, name: str, wanted: Kind | None) -> Resolution:
        stated = spell_gpu(name, self._words)
        gpu_like = bool(stated.vendors or stated.brands or refused.kind is Kind.GPU)
        kind = wanted or (Kind.GPU if gpu_like else None)
        searched = join(stated.core) if kind is Kind.GPU and stated.core else name
        tells = stated.core and not self._said_around.issuperset(stated.core) and not self._is_placeholder(name)
        found = self._nearest.find(searched, kind, _NEAREST) if tells else []
        if kind is None and found and found[0][0] >= _CLEARLY_LIKE:
            kind = found[0][1].kind
            found = [(like, entry) for like, entry in found if entry.kind is kind]
        candidates = tuple(entry for _, entry in found)
        reason = refused.reason
        if candidates and reason.id == "names.refused.unknown":
            reason = Message(
                "names.refused.unknown_near",
                {**reason.values, "nearest": explaining.either([c.name for c in candidates])},
            )
        return Resolution(refused.query, kind, None, None, reason, candidates=candidates)

    def _candidates(self, kind: Kind, ids: Iterable[str]) -> tuple[Candidate, ...]:
        return tuple(Candidate(kind, i, self._name(kind, i)) for i in ids)

    def _name(self, kind: Kind, entry_id: str) -> str:
        match kind:
            case Kind.GPU:
                return self._catalog.gpus[entry_id].name
            case Kind.MODEL:
                return self._catalog.models[entry_id].name
            case Kind.INSTANCE:
                instance = self._instances[entry_id]
                return f"{instance.provider} {instance.name}"

    def _all_names(self) -> Iterator[tuple[Candidate, Iterable[str]]]:
        for gpu in self._catalog.gpus.values():
            cores = [join(spelling.core) for spelling in self._gpus.traits(gpu.id).spellings]
            yield Candidate(Kind.GPU, gpu.id, gpu.name), (gpu.name, *gpu.aliases, *cores)
        for model in self._catalog.models.values():
            names = (model.name, model.name.rpartition("/")[2], *model.aliases)
            yield Candidate(Kind.MODEL, model.id, model.name), names
        for instance in self._catalog.instances.values():
            entry = Candidate(Kind.INSTANCE, instance.id, f"{instance.provider} {instance.name}")
            yield entry, (instance.name,)


def _every(parts: Iterable[Resolution]) -> Iterator[Candidate]:
    seen: set[str] = set()
    for part in parts:
        own = [Candidate(part.kind, part.id, part.name or "")] if part.id and part.kind else []
        for candidate in (*own, *part.candidates):
            if candidate.id not in seen:
                seen.add(candidate.id)
                yield candidate


def _shown(text: str) -> str:
    """The text as it can stand in a message: printable, on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
