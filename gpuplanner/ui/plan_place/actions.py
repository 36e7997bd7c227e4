"""What can be done on the Plan page: buttons of the top bar, entries of the palette, the menu, and file dialogs."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.pins import LEAST_PINS
from gpuplanner.ui.places import Context, Location, PageAction
from gpuplanner.ui.plan_place.intake import PLAN_SUFFIX
from gpuplanner.ui.plan_place.presenter import PlanPresenter
from gpuplanner.ui.tokens import GAP
from gpuplanner.ui.widgets.button import ButtonKind

_IN_MENU = frozenset({"redo", "history", "duplicate", "save_as", "plans", "new", "open"})


class PlanActions:
    """The actions of one page. `owner` is the page, over which menus and dialogs open."""

    def __init__(
        self,
        context: Context,
        presenter: PlanPresenter,
        owner: QWidget,
        pick_machine: Callable[[], object],
        show_difference: Callable[[str], object],
        show_history: Callable[[], object],
    ) -> None:
        self._context = context
        self._appearance = context.appearance
        self._presenter = presenter
        self._owner = owner
        self._pick_machine = pick_machine
        self._show_difference = show_difference
        self._show_history = show_history

    def start(self) -> tuple[PageAction, ...]:
        """What can be done on the start page."""
        return self._open_action(), self._new_action()

    def all(self) -> tuple[PageAction, ...]:
        """What can be done on an open plan."""
        document = self._presenter.document
        redo = document.redo_name
        pins = len(self._presenter.pins.all())
        undoable = document.undo_name is not None
        return (
            PageAction("undo", msg("planui.undo"), document.undo, icon="undo-2", shortcut="Ctrl+Z", enabled=undoable),
            PageAction(
                "redo",
                msg("planui.redo.named", what=redo) if redo else msg("planui.redo"),
                document.redo,
                icon="redo-2",
                shortcut="Ctrl+Shift+Z",
                enabled=redo is not None,
                in_bar=False,
            ),
            PageAction("more", msg("planui.plan_menu"), self.open_menu, icon="ellipsis"),
            self._quiet("history", "planui.history", self._show_history, "rotate-ccw", "Ctrl+Shift+H"),
            self._quiet("plans", "planui.plans", self._presenter.show_start, "file-text"),
            self._quiet("duplicate", "planui.duplicate", self.duplicate, "copy"),
            self._quiet("save_as", "planui.save_as", self.save_as, "download", "Ctrl+Shift+S"),
            self._quiet("machine", "planui.machine.choose", self._pick_machine, "gpu"),
            self._quiet("difference", "planui.difference.with", self.open_differences, "git-compare"),
            PageAction(
                "compare",
                msg("planui.compare", count=pins) if pins else msg("planui.compare.none"),
                self.compare,
                ButtonKind.PRIMARY if pins >= LEAST_PINS else ButtonKind.PLAIN,
                enabled=pins >= LEAST_PINS,
            ),
            self._open_action(),
            self._new_action(),
        )

    def new(self) -> None:
        """A new plan with the usual values."""
        self._presenter.new_plan(self._appearance.text("planui.new_name"), "serving")

    def duplicate(self) -> None:
        """A copy of the open plan."""
        name = self._appearance.said(self._presenter.title)
        self._presenter.duplicate(self._appearance.text("planui.copy_of", name=name))

    def save_as(self) -> None:
        """Ask where to, and write the plan there."""
        usual = (
            "".join("-" if c in _NOT_IN_NAMES else c for c in self._appearance.said(self._presenter.title))[:80].strip()
            or "plan"
        )
        title = self._appearance.text("planui.save_as")
        kinds = f"gpuplanner (*{PLAN_SUFFIX})"
        path, _ = QFileDialog.getSaveFileName(self._owner, title, f"{usual}{PLAN_SUFFIX}", kinds)
        if path:
            self._presenter.save_as(Path(path))

    def choose_file(self) -> None:
        """Ask for a file, and take it."""
        paths, _ = QFileDialog.getOpenFileNames(self._owner, self._appearance.text("planui.start.open"))
        if paths:
            self._presenter.taking.files(paths)

    def compare(self) -> None:
        """Go to the comparison with what is pinned."""
        self._context.go(Location("compare"))

    def open_menu(self) -> None:
        """The menu of what is seldom done, under the top bar."""
        menu = self._menu()
        document = self._presenter.document
        undo = document.undo_name
        says = msg("planui.undo.named", what=undo) if undo else msg("planui.undo")
        menu.addAction(self._appearance.text(says), document.undo).setEnabled(undo is not None)
        for action in self.all():
            if action.id in _IN_MENU:
                entry = menu.addAction(self._appearance.text(action.label), action.run)
                entry.setEnabled(action.enabled)
        inner = menu.addMenu(self._appearance.text("planui.difference.with"))
        self._fill_differences(inner)
        inner.setEnabled(not inner.isEmpty())
        self._pop_up(menu)

    def open_differences(self) -> None:
        """The other plans, to see how they differ."""
        menu = self._menu()
        self._fill_differences(menu)
        if not menu.isEmpty():
            self._pop_up(menu)

    def _fill_differences(self, menu: QMenu) -> None:
        for plan in self._presenter.plans.listed():
            if plan.id != self._presenter.autosave.plan_id:
                name = self._appearance.said(self._presenter.titles.of(plan.name))
                menu.addAction(name.replace("&", "&&"), lambda wanted=plan.id: self._show_difference(wanted))

    def _menu(self) -> QMenu:
        menu = QMenu(self._owner)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def _pop_up(self, menu: QMenu) -> None:
        corner = self._owner.mapToGlobal(self._owner.rect().topRight())
        menu.popup(corner - QPoint(menu.sizeHint().width() + GAP, 4))

    def _quiet(
        self, action_id: str, label: str, run: Callable[[], object], icon: str, shortcut: str = ""
    ) -> PageAction:
        return PageAction(action_id, msg(label), run, icon=icon, shortcut=shortcut, in_bar=False)

    def _open_action(self) -> PageAction:
        return self._quiet("open", "planui.start.open", self.choose_file, "folder-open")

    def _new_action(self) -> PageAction:
        return self._quiet("new", "planui.start.new", self.new, "plus", "Ctrl+N")


_NOT_IN_NAMES = frozenset('/\\:*?"<>|')
