"""Finds the GPU and the model that a row of measurements names, and remembers each, since files repeat a few names."""

from functools import cache

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import Gpu, Model
from gpuplanner.catalog.names import Kind, Names
from gpuplanner.messages import InputError


class ResolvedNames:
    """The catalog's name resolver as the validation families use it."""

    def __init__(self, catalog: Catalog, names: Names) -> None:
        self._catalog = catalog
        self._names = names
        self.gpu = cache(self._gpu)
        self.model = cache(self._model)

    def _gpu(self, text: str, memory_bytes: float | None = None) -> Gpu:
        return self._catalog.gpus[self._id(text, Kind.GPU, memory_bytes)]

    def _model(self, text: str) -> Model:
        return self._catalog.models[self._id(text, Kind.MODEL)]

    def _id(self, text: str, kind: Kind, memory_bytes: float | None = None) -> str:
        found = self._names.resolve(text, kind=kind, memory_bytes=memory_bytes)
        if found.id is None:
            raise InputError(found.reason)
        return found.id
