"""What estimates need to know of models that are no language models: a type for each kind, read from `network:`."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from gpuplanner.catalog.architecture import Frozen
from gpuplanner.messages import InputError, msg, shortened


class Network(Frozen):
    """What is known of one network. `parameters`: weights of everything that a run keeps in memory."""

    name: str
    parameters: float


NETWORKS: Final[Mapping[str, type[Network]]] = {}
"""The type of each kind of the catalog's models that has one."""


def network_from_entry(kind: str, name: str, entry: Mapping[str, Any]) -> Network:
    """The network of a model's entry. Raises InputError that names the field that cannot be used."""
    wanted = NETWORKS.get(kind)
    if wanted is None:
        raise InputError(msg("model.entry.no_network", kind=kind))
    try:
        return wanted.model_validate({"name": name, **entry})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(msg("model.entry.network", field=field, value=shortened(str(first["input"]), 40))) from None
