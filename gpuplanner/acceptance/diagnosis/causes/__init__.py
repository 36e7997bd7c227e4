"""One module a cause, or a few that read the same lines. Each module has `CAUSES`; modules are found."""

import importlib
import pkgutil
from functools import cache

from gpuplanner.acceptance.diagnosis.finding import Cause


@cache
def causes() -> tuple[Cause, ...]:
    """All causes that are more than one check's failure, by the order of their modules' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return tuple(cause for module in modules for cause in getattr(module, "CAUSES", ()))
