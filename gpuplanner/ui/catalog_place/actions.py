"""What can be done on the page of the Catalog: buttons of the top bar and entries of the palette. Does none of it."""

from collections.abc import Callable
from dataclasses import dataclass

from gpuplanner.messages import msg
from gpuplanner.ui.catalog_place.presenter import CatalogPresenter
from gpuplanner.ui.pins import LEAST_PINS
from gpuplanner.ui.places import PageAction
from gpuplanner.ui.widgets.button import ButtonKind

Do = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """What each action does."""

    columns: Do
    export: Do
    compare: Do
    focus_filter: Do
    pin: Do
    similar: Do
    plan: Do
    add_gpu: Do


class CatalogActions:
    """Knows which actions make sense now."""

    def __init__(self, presenter: CatalogPresenter, doing: Doing) -> None:
        self._presenter = presenter
        self._do = doing

    def now(self, *, roomy: bool) -> tuple[PageAction, ...]:
        """The actions in their order; in a narrow bar the palette alone has those that are seldom wanted."""
        do, presenter = self._do, self._presenter
        pins = len(presenter.pins.all())
        ready = presenter.read is not None
        entry = presenter.entry is not None
        compare = msg("catalogui.compare_count", count=pins) if pins else msg("catalogui.compare_none")
        kind = ButtonKind.PRIMARY if pins >= LEAST_PINS else ButtonKind.PLAIN
        filtered = not presenter.query.is_empty
        return (
            PageAction("columns", msg("catalogui.columns"), do.columns, enabled=ready),
            PageAction("export", msg("catalogui.export"), do.export, shortcut="Ctrl+E", enabled=ready, in_bar=roomy),
            PageAction("compare", compare, do.compare, kind, enabled=pins >= LEAST_PINS),
            PageAction(
                "filter",
                msg("catalogui.filter.focus"),
                do.focus_filter,
                icon="list-filter",
                shortcut="Ctrl+F",
                in_bar=False,
            ),
            PageAction("pin", msg("catalogui.pin"), do.pin, icon="pin", shortcut="Ctrl+D", enabled=entry, in_bar=False),
            PageAction("similar", msg("catalogui.similar.do"), do.similar, icon="search", enabled=entry, in_bar=False),
            PageAction("plan", msg("catalogui.plan"), do.plan, icon="sliders-horizontal", enabled=entry, in_bar=False),
            PageAction("add-gpu", msg("answers.newgpu.do"), do.add_gpu, enabled=ready, in_bar=roomy),
            PageAction(
                "clear", msg("catalogui.filter.clear_all"), presenter.clear, icon="x", enabled=filtered, in_bar=False
            ),
        )
