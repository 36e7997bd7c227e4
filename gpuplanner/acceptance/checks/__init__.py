"""One module a check, or a family of checks that read the same lines. Each module has `CHECKS`; modules are found."""

import importlib
import pkgutil
from functools import cache

from gpuplanner.acceptance.check import Check


@cache
def checks() -> tuple[Check, ...]:
    """All checks, by the order of their modules' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return tuple(check for module in modules for check in getattr(module, "CHECKS", ()))
