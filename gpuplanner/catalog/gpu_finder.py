"""Which GPU of the catalog an offer means: by id, by name, or as names are resolved everywhere. Never by likeness."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import GpuProperty, Instance
from gpuplanner.catalog.files.records import Fields, near
from gpuplanner.catalog.names import Kind, Names, Resolution, names_of
from gpuplanner.catalog.problems import Severity, shown
from gpuplanner.messages import msg

MOST_NAMES = 1000
"""Different texts that are looked up for one file, at some milliseconds each; a long price list names a few dozen."""


class GpuFinder:
    """Finds the GPUs of many offers; what a text means is looked up once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._names: Names | None = None
        self._found: dict[str, Resolution | str] = {}
        self._ordered: dict[str, tuple[str, ...]] = {}
        self._told: set[str] = set()
        named: dict[str, list[str]] = {}
        for gpu in catalog.gpus.values():
            for name in {gpu.name.casefold(), *(alias.casefold() for alias in gpu.aliases)}:
                named.setdefault(name, []).append(gpu.id)
        self._exact = {name: ids[0] for name, ids in named.items() if len(ids) == 1}

    def called(self, text: str) -> str | None:
        """The id of the one GPU that is called exactly so."""
        return self._exact.get(text.casefold())

    def with_gpu(self, instance: Instance, known: Instance | None, fields: Fields) -> Instance:
        """The instance with its GPU. What cannot be found is kept as a problem: an error for an id, else a warning."""
        ids = (instance.gpu_id, *instance.gpu_may_be) if instance.gpu_id else instance.gpu_may_be
        for gpu_id in ids:
            if gpu_id not in self._catalog.gpus:
                near_id = near(gpu_id or "", self._catalog.gpus)
                fields.problem("gpu_id", "overlay.instance.unknown_gpu_id", value=gpu_id or "", near=near_id)
        if known and instance.gpu_id and "gpu_id" not in fields.record.values and _same_text(known, instance):
            # As its row says, it is what the catalog knows; there it may be named more closely.
            return replace(instance, gpu_id=None)
        if ids:
            return instance
        if not instance.gpu_text:
            if known is None:
                fields.problem("gpu", "overlay.instance.which_gpu", name=instance.name)
            return instance
        if known and _same_text(known, instance):
            return instance
        found = self._find(instance.gpu_text)
        return replace(instance, gpu_id=found) if isinstance(found, str) else self._resolved(instance, found, fields)

    def _find(self, text: str) -> Resolution | str:
        if text not in self._found:
            self._found[text] = self._exact.get(text.casefold()) or self._resolve(text)
        return self._found[text]

    def _resolve(self, text: str) -> Resolution:
        if len(self._found) >= MOST_NAMES:
            return Resolution(text, Kind.GPU, None, None, msg("overlay.instance.many_gpus", limit=MOST_NAMES))
        self._names = self._names or names_of(self._catalog)
        return self._names.resolve(text, kind=Kind.GPU)

    def _resolved(self, instance: Instance, found: Resolution, fields: Fields) -> Instance:
        if found.id:
            share = found.fraction.compute or found.fraction.memory if found.fraction else None
            whole = instance.gpu_fraction == 1 and "gpu_share" not in fields.record.values
            return replace(instance, gpu_id=found.id, gpu_fraction=share if share and whole else instance.gpu_fraction)
        may_be = self._may_be(instance.gpu_text, found)
        if instance.gpu_text not in self._told:
            self._told.add(instance.gpu_text)
            self._tell(found, may_be, fields)
        return replace(instance, gpu_may_be=may_be) if may_be else instance

    def _may_be(self, text: str, found: Resolution) -> tuple[str, ...]:
        """The GPUs that an ambiguous text fits, the slowest first; none for a text that is refused."""
        if text not in self._ordered:
            ambiguous = found.reason.id.startswith("names.ambiguous")
            ids = (c.id for c in found.candidates if c.kind is Kind.GPU)
            self._ordered[text] = self.slowest_first(ids) if ambiguous else ()
        return self._ordered[text]

    def _tell(self, found: Resolution, may_be: Sequence[str], fields: Fields) -> None:
        """Keep why a text names no GPU; once for each text, as a list of prices repeats it."""
        if may_be:
            slowest = self._catalog.gpus[may_be[0]].name
            fields.problem("gpu", "overlay.instance.ambiguous_gpu", Severity.WARNING, reason=found.reason, gpu=slowest)
            return
        if found.reason.id == "overlay.instance.many_gpus":
            fields.keep("gpu", found.reason, Severity.WARNING)
            return
        names = ", ".join(candidate.name for candidate in found.candidates[:3])
        like = msg("overlay.near", name=names) if names else msg("overlay.near.none")
        fields.problem("gpu", "overlay.instance.unknown_gpu", Severity.WARNING, value=shown(found.query), near=like)

    def slowest_first(self, ids: Iterable[str]) -> tuple[str, ...]:
        """GPUs by dense rate, then by bandwidth; one of which nothing is known stands first."""

        def speed(gpu_id: str) -> tuple[float, float]:
            gpu = self._catalog.gpus[gpu_id]
            rate = gpu.known(GpuProperty.BF16_FLOP_PER_S) or gpu.known(GpuProperty.FP16_FLOP_PER_S)
            bandwidth = gpu.known(GpuProperty.HBM_BYTES_PER_S)
            return (rate.value if rate else 0.0, bandwidth.value if bandwidth else 0.0)

        return tuple(sorted((i for i in dict.fromkeys(ids) if i in self._catalog.gpus), key=speed))


def _same_text(one: Instance, other: Instance) -> bool:
    return one.gpu_text.casefold() == other.gpu_text.casefold()
