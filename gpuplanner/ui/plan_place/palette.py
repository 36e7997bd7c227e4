"""What the palette finds of this place: the person's plans, and plans to start from. Knows no widget."""

from collections.abc import Sequence
from functools import partial

from gpuplanner.messages import InputError, msg
from gpuplanner.store.plans import PlanShelf
from gpuplanner.ui.palette.items import PaletteItem, match
from gpuplanner.ui.places import Context, Location
from gpuplanner.ui.plan_place.presenter import PLAN, PRESET, SAMPLE

_AT_MOST = 30


class PlanProvider:
    """Plans by their name, the last opened first; presets by their name in both languages and by their id."""

    group = msg("planui.palette")
    in_background = True

    def __init__(self, context: Context, place: str) -> None:
        self._appearance = context.appearance
        self._workspace = context.workspace
        self._go = context.go
        self._place = place

    def find(self, query: str) -> Sequence[PaletteItem]:
        """Plans and presets that match; of an empty query the last plans only."""
        items = self._plans(query)
        return [*items, *self._presets(query)] if query.strip() else items

    def _plans(self, query: str) -> list[PaletteItem]:
        try:
            plans = PlanShelf(self._workspace.store).listed()
        except InputError:
            return []
        unnamed = self._appearance.text("planui.unnamed")
        return [
            PaletteItem(
                f"plan.{plan.id}",
                plan.name or unnamed,
                partial(self._go, Location(self._place, PLAN + plan.id)),
                icon="pin" if plan.pinned else "file-text",
                score=match(query, plan.name or unnamed),
            )
            for plan in plans[:_AT_MOST]
        ]

    def _presets(self, query: str) -> list[PaletteItem]:
        names = (SAMPLE, *self._workspace.presets)
        note = self._appearance.text("planui.saved.preset")
        return [
            PaletteItem(
                f"preset.{name}",
                self._appearance.text(f"preset.{name}"),
                partial(self._go, Location(self._place, PRESET + name)),
                note=note,
                icon="flag",
                score=match(query, name, *self._appearance.texts(msg(f"preset.{name}"))) * 0.9,
            )
            for name in names
        ]
