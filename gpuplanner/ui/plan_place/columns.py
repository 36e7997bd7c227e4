"""The three columns of an open plan, with banners above; where there is no room, results and machines take turns."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QScrollArea, QSplitter, QSplitterHandle, QVBoxLayout, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Coalescer
from gpuplanner.ui.plan_place.banners import Banner
from gpuplanner.ui.settings import WINDOW, Settings, is_pixels
from gpuplanner.ui.tokens import GAP
from gpuplanner.ui.widgets.notice_box import NoticeBox
from gpuplanner.ui.widgets.scrolling import Scrolled, scrolling
from gpuplanner.ui.widgets.segmented import Option, Segmented

USUAL_WIDTHS = (276, 512, 436)
LEAST_WIDTHS = (258, 420, 350)
THREE_COLUMNS = sum(LEAST_WIDTHS) + 2 * GAP
"""From this width on, results and machines stand beside each other."""
RESULTS, MACHINES = "results", "machines"
MARGIN = GAP + 2
_GUTTER = 10
"""Between a scrolled column and its edge: where its scroll bar stands."""
_SPLIT = WINDOW + "plan.split"


class PlanColumns(QWidget):
    """Wizard, results and machines. How wide each is stays so for the next time."""

    def __init__(
        self, appearance: Appearance, settings: Settings, wizard: QWidget, results: QWidget, machines: QWidget
    ) -> None:
        super().__init__()
        self._appearance = appearance
        self._settings = settings
        self._machines = machines
        self.sides = Segmented(
            appearance,
            [Option(RESULTS, msg("planui.side.results")), Option(MACHINES, msg("planui.side.machines"))],
            RESULTS,
            msg("planui.side"),
        )
        self.sides.chosen.connect(self._choose_columns)
        self._wizard_area = scrolling(_gutter(wizard))
        self._results_area = scrolling(_gutter(results))
        self._kept_clear = 20
        self._banners = QVBoxLayout()
        self._banners.setSpacing(8)
        self._inner = _splitter(self._results_area, machines, shares=(3, 2))
        right = QWidget()
        sides = QVBoxLayout(right)
        sides.setContentsMargins(0, 0, 0, 0)
        sides.setSpacing(10)
        sides.addWidget(self.sides, 0, Qt.AlignmentFlag.AlignLeft)
        sides.addWidget(self._inner, 1)
        self._outer = _splitter(self._wizard_area, right, shares=(0, 1))
        for widget, least in zip((self._wizard_area, self._results_area, machines), LEAST_WIDTHS, strict=True):
            widget.setMinimumWidth(least)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        layout.setSpacing(0)
        layout.addLayout(self._banners)
        self._above = QVBoxLayout()
        layout.addLayout(self._above)
        layout.addWidget(self._outer, 1)
        self._keep = Coalescer(self._save, self, 400)
        self._restore()
        for splitter in (self._outer, self._inner):
            splitter.splitterMoved.connect(self._keep.call)

    def show_banners(self, banners: Sequence[Banner], close: Callable[[str], object]) -> None:
        """Show other banners above the columns."""
        while (item := self._banners.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for banner in banners:
            action = banner.actions[0] if banner.actions else None
            box = NoticeBox(self._appearance, banner.message, banner.verdict, action, closable=banner.closable)
            if banner.closable:
                box.closed.connect(lambda wanted=banner.id: close(wanted))
            self._banners.addWidget(box)
        self._banners.setContentsMargins(0, 0, 0, GAP if banners else 0)

    def put_above(self, card: QWidget) -> None:
        """Put a card between the banners and the columns, with the gap that it needs while it is seen."""
        holder = _Above(card)
        self._above.addWidget(holder)

    def to_top(self) -> None:
        """Begin at the top: another plan is shown."""
        for area in (self._wizard_area, self._results_area):
            area.verticalScrollBar().setValue(0)

    def bring_into_sight(self, card: QWidget) -> None:
        """Scroll the results so that a card is seen; show them where machines have their turn."""
        if not self._results_area.isVisible():
            self.sides.choose(RESULTS)
            self._choose_columns()
        self._results_area.ensureWidgetVisible(card, 0, self._kept_clear)

    def keep_in_sight(self, line: QWidget, card: QWidget) -> None:
        """Show a line over the top of the results while the card that says the same is scrolled out of sight."""
        self._kept_clear = line.height() + GAP
        _KeptInSight(line, card, self._results_area)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._choose_columns()

    def _choose_columns(self) -> None:
        wide = self.width() - 2 * MARGIN >= THREE_COLUMNS
        self.sides.setVisible(not wide)
        self._results_area.setVisible(wide or self.sides.current() == RESULTS)
        self._machines.setVisible(wide or self.sides.current() == MACHINES)

    def _restore(self) -> None:
        kept = self._settings.kept(_SPLIT)
        known = isinstance(kept, list) and len(kept) == 3 and all(is_pixels(n, 1) for n in kept)
        wizard, results, machines = kept if known else USUAL_WIDTHS
        self._outer.setSizes([wizard, results + machines])
        self._inner.setSizes([results, machines])

    def _save(self) -> None:
        if self._results_area.isVisible() and self._machines.isVisible():
            self._settings.keep(_SPLIT, [self._outer.sizes()[0], *self._inner.sizes()])


class _KeptInSight(QObject):
    """Places a line at the top of an area, and shows it while the top of a card in it is above."""

    def __init__(self, line: QWidget, card: QWidget, area: QScrollArea) -> None:
        super().__init__(area)
        self._line, self._card, self._area = line, card, area
        line.setParent(area)
        area.verticalScrollBar().valueChanged.connect(self._place)
        card.installEventFilter(self)
        area.installEventFilter(self)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.ShowToParent, QEvent.Type.HideToParent}:
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        top = self._card.mapTo(self._area.viewport(), QPoint(0, 0)).y()
        self._line.setGeometry(0, 0, self._card.width(), self._line.height())
        # The name of the machine stands in the first line of the card.
        self._line.setVisible(not self._card.isHidden() and top + self._line.height() <= 0)
        self._line.raise_()


class _Above(QWidget):
    """A card with a gap below it; gone when the card is."""

    def __init__(self, card: QWidget) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, GAP)
        layout.addWidget(card)
        self._card = card
        card.installEventFilter(self)
        self.setHidden(card.isHidden())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._card and event.type() in {QEvent.Type.ShowToParent, QEvent.Type.HideToParent}:
            self.setHidden(self._card.isHidden())
        return super().eventFilter(watched, event)


def padded(widget: QWidget) -> QWidget:
    """A widget at the top of a page, with the page's margins."""
    holder = Scrolled()
    layout = QVBoxLayout(holder)
    layout.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
    layout.addWidget(widget)
    layout.addStretch(1)
    return holder


class _Splitter(QSplitter):
    """Columns with nothing painted between them."""

    def createHandle(self) -> QSplitterHandle:
        return _Handle(self.orientation(), self)


class _Handle(QSplitterHandle):
    def paintEvent(self, event: QPaintEvent) -> None:
        """The cursor tells that it can be moved; the gap between cards is line enough."""


def _splitter(first: QWidget, second: QWidget, *, shares: tuple[int, int]) -> QSplitter:
    """Two columns beside each other; `shares`: how they divide what a wider window adds."""
    splitter = _Splitter(Qt.Orientation.Horizontal)
    splitter.setHandleWidth(GAP - _GUTTER)
    splitter.setChildrenCollapsible(False)
    for at, (widget, share) in enumerate(zip((first, second), shares, strict=True)):
        splitter.addWidget(widget)
        splitter.setStretchFactor(at, share)
    return splitter


def _gutter(widget: QWidget) -> QWidget:
    holder = Scrolled()
    layout = QVBoxLayout(holder)
    layout.setContentsMargins(0, 0, _GUTTER, 0)
    layout.addWidget(widget)
    layout.addStretch(1)
    return holder
