"""Panes side by side whose widths a person can drag, kept from one session to the next."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QSplitter, QSplitterHandle, QWidget

from gpuplanner.ui.background import Coalescer
from gpuplanner.ui.settings import WINDOW, Settings, is_pixels
from gpuplanner.ui.tokens import GAP


class Splitter(QSplitter):
    """A splitter with the gap of the design as its handle. `sizes` are the widths that it begins with."""

    def __init__(
        self,
        settings: Settings,
        key: str,
        panes: Sequence[QWidget],
        sizes: Sequence[int],
        *,
        grows: int,
        orientation: Qt.Orientation = Qt.Orientation.Horizontal,
        parent: QWidget | None = None,
    ) -> None:
        """`grows` is the pane that takes what is left when the window becomes wider."""
        super().__init__(orientation, parent)
        self._settings = settings
        self._key = f"{WINDOW}splitter.{key}"
        self._usual = tuple(sizes)
        self.setHandleWidth(GAP)
        self.setChildrenCollapsible(False)
        for at, pane in enumerate(panes):
            self.addWidget(pane)
            self.setStretchFactor(at, 1 if at == grows else 0)
        kept = settings.kept(self._key)
        usable = isinstance(kept, list) and len(kept) == len(panes) and all(is_pixels(n, 1) for n in kept)
        self.setSizes(kept if usable else list(sizes))
        self._keep = Coalescer(self._save, self, 400)
        self.splitterMoved.connect(self._keep.call)

    def reset(self) -> None:
        """The widths that it began with at first."""
        self.arrange(self._usual)

    def arrange(self, sizes: Sequence[int]) -> None:
        """Other widths, and keep them."""
        self.setSizes(list(sizes))
        self._keep.call()

    def createHandle(self) -> QSplitterHandle:
        return _Handle(self.orientation(), self)

    def _save(self) -> None:
        self._settings.keep(self._key, self.sizes())


class _Handle(QSplitterHandle):
    def paintEvent(self, event: QPaintEvent) -> None:
        """The cursor tells that it can be moved; the gap between cards is line enough."""
