"""The Catalog as a place of the window, and what the palette finds of it."""

from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from gpuplanner.catalog.search import EntryKind
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.palette.items import PaletteItem, PaletteProvider, has_words, match
from gpuplanner.ui.places import Context, Location, Page, Place

if TYPE_CHECKING:
    from gpuplanner.ui.catalog_place.presenter import CatalogWorkspace

CATALOG_PLACE = "catalog"
_ICONS = {EntryKind.GPU: "gpu", EntryKind.INSTANCE: "cloud", EntryKind.MODEL: "box"}
_FOUND = 12
_BY_WORD, _BY_PART, _OTHERWISE = 0.95, 0.88, 0.6
"""A name with a whole word of what was typed stands before commands that have only a part of it, and behind others."""
"""An entry that is called so goes before a word of the glossary; one that only has to do with it comes after."""


def catalog_place(today: Callable[[], date] = date.today) -> Place:
    """The place as the window shows it."""

    def make(context: Context) -> Page:
        # Read when it is first visited: the window is there sooner without.
        from gpuplanner.ui.catalog_place.page import CatalogPage

        return CatalogPage(context, today)

    return Place(CATALOG_PLACE, "database", msg("catalogui.title"), make, takes=_is_own, providers=_providers)


def _is_own(path: str) -> bool:
    """A list of prices, or YAML that holds entries of a catalog: it may as well be that of a training."""
    # Read when something is dropped, for the same reason as above.
    from gpuplanner.ui.catalog_place.own_files import is_own_file

    return is_own_file(path)


def _providers(context: Context) -> Sequence[PaletteProvider]:
    return (EntryProvider(context.appearance, context.workspace, context.go),)


class EntryProvider:
    """GPUs, instances and models by any name that they have, in both languages."""

    group = msg("catalogui.palette")
    in_background = True

    def __init__(self, appearance: Appearance, workspace: "CatalogWorkspace", go: Callable[[Location], None]) -> None:
        self._appearance = appearance
        self._workspace = workspace
        self._go = go

    def find(self, query: str) -> Sequence[PaletteItem]:
        """The best entries, best first. Nothing for an empty query: there are hundreds."""
        if not query.strip():
            return ()
        hits = self._workspace.index.search(query, (EntryKind.GPU, EntryKind.INSTANCE, EntryKind.MODEL), _FOUND)
        return [
            PaletteItem(
                f"catalog.{hit.kind.value}.{hit.id}",
                hit.title(self._appearance.language),
                partial(self._go, Location(CATALOG_PLACE, f"{hit.kind.value}/{hit.id}")),
                note=hit.detail,
                icon=_ICONS[hit.kind],
                score=_score(query, hit.title(self._appearance.language)) - 0.01 * rank,
            )
            for rank, hit in enumerate(hits)
        ]


def _score(query: str, name: str) -> float:
    if has_words(query, name):
        return _BY_WORD
    return _BY_PART if match(query, name) else _OTHERWISE
