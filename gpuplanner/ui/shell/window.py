"""The main window: lays out rail, top bar, pages, status bar, toasts and palette, and wires them to the navigation."""

from collections.abc import Sequence

from PySide6.QtCore import QMimeData, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QKeySequence,
    QPaintEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import QApplication, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.painting import painter_for
from gpuplanner.ui.palette.items import PaletteProvider
from gpuplanner.ui.palette.search import PaletteSearch
from gpuplanner.ui.palette.view import PaletteView
from gpuplanner.ui.places import Context, Heading, Location, Page, Place
from gpuplanner.ui.settings import WINDOW
from gpuplanner.ui.shell.drop_veil import DropVeil
from gpuplanner.ui.shell.geometry import KeptGeometry
from gpuplanner.ui.shell.history import History
from gpuplanner.ui.shell.layout_reset import reset_layout
from gpuplanner.ui.shell.rail import Rail
from gpuplanner.ui.shell.shortcuts import PLACE_KEYS, SHORTCUTS
from gpuplanner.ui.shell.status_bar import StatusBar
from gpuplanner.ui.shell.toasts import Toasts
from gpuplanner.ui.shell.top_bar import TopBar
from gpuplanner.ui.tokens import Verdict

SETTINGS = "settings"
HELP = "help"
NOTICES = "notices"
"""The path of the list of notices on the help page."""
_KEYS_OF_THE_WINDOW = frozenset(shortcut.keys for shortcut in SHORTCUTS)
_LAST = WINDOW + "place"


class Window(QWidget):
    """Shows one page at a time. Pages are made when first visited and live until the window closes."""

    def __init__(self, context: Context, places: Sequence[Place], foot: Sequence[Place] = ()) -> None:
        """`foot` places stand at the foot of the rail: the help and the settings."""
        super().__init__()
        self.context = context
        self._places = {place.id: place for place in (*places, *foot)}
        self._order = [place.id for place in places]
        self._pages: dict[str, Page] = {}
        self._carried: dict[str, object] = {}
        self._history = History()
        self.kept_geometry = KeptGeometry(self, context.settings)
        appearance = context.appearance
        self.rail = Rail(appearance)
        self.top_bar = TopBar(appearance)
        self.status_bar = StatusBar(appearance, context.jobs)
        self._stack = QStackedWidget()
        self._lay_out(places, foot)
        self.toasts = Toasts(appearance, self)
        self.search = PaletteSearch(context.jobs, self)
        self.palette_view = PaletteView(appearance, self.search, self)
        self.drop_veil = DropVeil(appearance, self)
        self._wire()
        self._bind_keys()
        self.setAcceptDrops(True)
        self.setMinimumSize(900, 560)
        self._render()

    # --- Going places -------------------------------------------------------------------------------------------------

    def go(self, location: Location) -> None:
        """Show a place, and in it the path when there is one. An unknown place changes nothing."""
        if location.place not in self._places:
            return
        self.palette_view.shut()
        if location == Location(HELP, NOTICES):
            self.toasts.close_all()
        page = self._page(location.place)
        if location.path:
            page.visit(location.path)
        self._show(location.place, page)
        self._remember(location.place, page)

    def back(self) -> None:
        """Go back to where the person was before."""
        self._revisit(self._history.back())

    def forward(self) -> None:
        """Undo going back."""
        self._revisit(self._history.forward())

    def current_page(self) -> Page | None:
        """The page in sight."""
        page = self._stack.currentWidget()
        return page if isinstance(page, Page) else None

    def page(self, place_id: str) -> Page | None:
        """The page of a place, if it has been visited."""
        return self._pages.get(place_id)

    def start(self, first: str = "") -> None:
        """Show the place where the person was last, else the one to begin with, else any."""
        last = str(self.context.settings.kept(_LAST, ""))
        self.go(Location(next((place for place in (last, first, *self._order) if place in self._order), HELP)))

    def renew_pages(self) -> None:
        """Make the pages anew that were visited: what they know is not so any more. The person stays where they are.

        What a page carries, the new one goes on with, whenever it is made.
        """
        here = next((name for name, page in self._pages.items() if page is self.current_page()), "")
        path = self._pages[here].path() if here else ""
        for name, page in self._pages.items():
            self._carried[name] = page.carried()
            page.close_page()
            self._stack.removeWidget(page)
            page.hide()
            page.deleteLater()
        self._pages.clear()
        if here:
            page = self._page(here, path)
            self._show(here, page)

    def open_files(self, paths: Sequence[str]) -> bool:
        """Give files to the page in sight, or else to the place that takes their kind. Tells whether one took them."""
        page = self.current_page()
        if page is not None and page.dropped(paths):
            return True
        for place in self._places.values():
            if place.takes is not None and paths and all(place.takes(path) for path in paths):
                self.go(Location(place.id))
                return self._page(place.id).dropped(paths)
        self.context.notices.say(msg("ui.open.unknown", name=_names(paths)), Verdict.WARN)
        return False

    def add_provider(self, provider: PaletteProvider) -> None:
        """Let the palette ask this provider too."""
        self.search.add(provider)

    # --- Laying out ---------------------------------------------------------------------------------------------------

    def _lay_out(self, places: Sequence[Place], foot: Sequence[Place]) -> None:
        for number, place in enumerate(places, 1):
            self.rail.add(place.id, place.title, place.icon, PLACE_KEYS.format(number=number))
        for place in foot:
            self.rail.add(place.id, place.title, place.icon, place.shortcut, foot=True)
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self.top_bar)
        right.addWidget(self._stack, 1)
        upper = QHBoxLayout()
        upper.setSpacing(0)
        upper.addWidget(self.rail)
        upper.addLayout(right, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(upper, 1)
        layout.addWidget(self.status_bar)

    def _wire(self) -> None:
        context = self.context
        self.rail.chosen.connect(lambda place_id: self.go(Location(place_id)))
        self.top_bar.back.clicked.connect(self.back)
        self.top_bar.forward.clicked.connect(self.forward)
        self.top_bar.paletteWanted.connect(self.palette_view.open)
        self.top_bar.segmentChosen.connect(self._choose_segment)
        self.status_bar.noticesWanted.connect(lambda: self.go(Location(HELP, NOTICES)))
        for notice in context.notices.kept:
            self.toasts.show_notice(notice)
        context.notices.said.connect(self.toasts.show_notice)
        context.notices.said.connect(self._count_notices)
        context.notices.cleared.connect(self._count_notices)
        context.appearance.languageChanged.connect(self._render)
        context.appearance.themeChanged.connect(self.update)
        self._count_notices()

    def _bind_keys(self) -> None:
        acts = {
            "palette": self.palette_view.open,
            "panes": lambda: self._cycle_panes(1),
            "panes_back": lambda: self._cycle_panes(-1),
            "leave": self._leave,
            "back": self.back,
            "forward": self.forward,
            "settings": lambda: self.go(Location(SETTINGS)),
            "help": lambda: self.go(Location(HELP)),
            "open": self._choose_files,
            "paste": self._paste,
            "quit": self.close,
        }
        for shortcut in SHORTCUTS:
            keys = QShortcut(QKeySequence(shortcut.keys), self)
            keys.activated.connect(acts[shortcut.id])
        for number, place_id in enumerate(self._order, 1):
            keys = QShortcut(QKeySequence(PLACE_KEYS.format(number=number)), self)
            keys.activated.connect(lambda wanted=place_id: self.go(Location(wanted)))
        self._page_keys: list[QShortcut] = []
        self._heading: tuple[Page, Heading] | None = None

    # --- Pages --------------------------------------------------------------------------------------------------------

    def _page(self, place_id: str, path: str = "") -> Page:
        if place_id not in self._pages:
            page = self._places[place_id].make(self.context)
            self._pages[place_id] = page
            self._stack.addWidget(page)
            page.headingChanged.connect(lambda: self._heading_changed(page))
            page.moved.connect(lambda _path: self._moved(place_id, page))
            page.workSaid.connect(self.status_bar.show_job)
            if path:
                page.visit(path)
            carried = self._carried.pop(place_id, None)
            if carried is not None:
                page.carry_on(carried)
        return self._pages[place_id]

    def _show(self, place_id: str, page: Page) -> None:
        changed = self._stack.currentWidget() is not page
        self._stack.setCurrentWidget(page)
        self.rail.show_current(place_id)
        self._heading_changed(page)
        if place_id in self._order:
            self.context.settings.keep(_LAST, place_id)
        if changed:
            page.focus_first()

    def _remember(self, place_id: str, page: Page) -> None:
        self._history.visit(Location(place_id, page.path()))
        self._show_history()

    def _moved(self, place_id: str, page: Page) -> None:
        if self._stack.currentWidget() is page:
            self._remember(place_id, page)

    def _revisit(self, location: Location | None) -> None:
        if location is None:
            return
        page = self._page(location.place)
        page.visit(location.path)
        self._show(location.place, page)
        self._show_history()

    def _show_history(self) -> None:
        self.top_bar.show_history(back=self._history.can_go_back, forward=self._history.can_go_forward)

    def _heading_changed(self, page: Page) -> None:
        if self._stack.currentWidget() is not page:
            return
        heading = page.heading()
        if (page, heading) == self._heading:
            # A page says so with every entry that is walked over; buttons and keys stay as they are.
            return
        self._heading = (page, heading)
        self.top_bar.show_heading(heading)
        for keys in self._page_keys:
            keys.setEnabled(False)
            keys.deleteLater()
        self._page_keys = []
        for action in heading.actions:
            # Of two shortcuts with the same keys Qt would run neither.
            if action.shortcut and action.enabled and action.shortcut not in _KEYS_OF_THE_WINDOW:
                keys = QShortcut(QKeySequence(action.shortcut), self)
                keys.activated.connect(action.run)
                self._page_keys.append(keys)
        self._render()

    def _choose_segment(self, segment_id: str) -> None:
        page = self.current_page()
        # The bar shows what was clicked, whatever the page makes of it.
        self._heading = None
        if page is not None:
            page.choose_segment(segment_id)

    # --- Keys ---------------------------------------------------------------------------------------------------------

    def _cycle_panes(self, by: int) -> None:
        """Rail, top bar, the panes of the page, status bar, and round again."""
        if self.palette_view.isVisible():
            return
        page = self.current_page()
        inner = [pane for pane in (page.panes() if page else ()) if pane.isVisible()]
        panes: list[QWidget] = [self.rail, self.top_bar, *inner, self.status_bar]
        focused = QApplication.focusWidget()
        at = next((i for i, p in enumerate(panes) if focused and (p is focused or p.isAncestorOf(focused))), -1)
        _focus_into(panes[(at + by) % len(panes)])

    def _leave(self) -> None:
        """Close the innermost thing: the palette, what the page has open, a toast; then back to the page itself."""
        if self.palette_view.isVisible():
            self.palette_view.shut()
            return
        page = self.current_page()
        if page is not None and page.leave():
            return
        if self.toasts.close_latest() or page is None:
            return
        focused = QApplication.focusWidget()
        if focused is None or not page.isAncestorOf(focused):
            page.focus_first()

    def _paste(self) -> None:
        """Paste outside of any field: files or text for the page."""
        data = QGuiApplication.clipboard().mimeData()
        paths = _local_paths(data)
        if paths:
            self.open_files(paths)
            return
        page = self.current_page()
        if data.hasText() and (page is None or not page.pasted(data.text())):
            self.context.notices.say(msg("ui.paste.unknown"), Verdict.WARN)

    def _choose_files(self) -> None:
        from PySide6.QtWidgets import QFileDialog

        paths, _ = QFileDialog.getOpenFileNames(self, self.context.appearance.text(msg("ui.open.title")))
        if paths:
            self.open_files(paths)

    # --- Events -------------------------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()
            self.drop_veil.open()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.drop_veil.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.drop_veil.hide()
        paths = _local_paths(event.mimeData())
        event.acceptProposedAction()
        if not paths:
            self.context.notices.say(msg("ui.drop.no_file"), Verdict.WARN)
            return
        # The drag ends first, so that the other program is not kept waiting.
        QTimer.singleShot(0, self, lambda: self.open_files(paths))

    def closeEvent(self, event: QCloseEvent) -> None:
        self.kept_geometry.save()
        for page in self._pages.values():
            page.close_page()
        super().closeEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        page = self.current_page()
        if page is not None and QApplication.focusWidget() is None:
            page.focus_first()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter_for(self).fillRect(self.rect(), self.context.appearance.tokens.workspace)

    # --- Shape and texts ----------------------------------------------------------------------------------------------

    def reset_layout(self) -> None:
        """Size, panes and columns as at first; a notice offers to undo it."""
        undo_panes = reset_layout(self, self.context.settings)
        undo_size = self.kept_geometry.reset()

        def undo() -> None:
            undo_panes()
            undo_size()

        self.context.notices.say(msg("settings.reset_layout.done"), Verdict.PASS, NoticeAction(msg("ui.undo"), undo))

    def _count_notices(self) -> None:
        self.status_bar.show_notices(len(self.context.notices.kept))

    def _render(self) -> None:
        page = self.current_page()
        title = page.heading().title if page else ""
        shown = self.context.appearance.text(title) if isinstance(title, Message) else str(title)
        self.setWindowTitle(f"{shown} · gpuplanner" if shown else "gpuplanner")


def _focus_into(pane: QWidget) -> None:
    """Put the keyboard on a pane, or on the first thing in it that takes it."""
    wanted = pane
    if isinstance(pane, Rail):
        pane.focus_current()
        return
    if not pane.focusPolicy():
        wanted = next(
            (w for w in pane.findChildren(QWidget) if w.focusPolicy() and w.isVisible() and w.isEnabled()), pane
        )
    from PySide6.QtCore import Qt

    wanted.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _local_paths(data: QMimeData) -> list[str]:
    return [url.toLocalFile() for url in data.urls() if url.isLocalFile()]


def _names(paths: Sequence[str]) -> str:
    return ", ".join(path.replace("\\", "/").rpartition("/")[2] for path in paths[:3])
