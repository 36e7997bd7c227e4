"""Several numbers in lines of text, each of which can be asked how it came about."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.figures import Figure
from gpuplanner.messages import MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.plan_place.results.figure_link import FigureLink
from gpuplanner.ui.widgets.flow import FlowLayout


@dataclass(frozen=True, slots=True)
class Named:
    """A figure by its id and what it is called; `lacking` says what is missing where there is no figure."""

    id: str
    name: MessageValue
    figure: Figure | None
    lacking: MessageValue = ""
    means: MessageValue = ""
    """What the number counts, where its short name does not say all of it."""


class FigureFlow(QWidget):
    """`asked` carries the id of a figure."""

    asked = Signal(str)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._shown: tuple[Named, ...] = ()
        self._links: list[FigureLink] = []
        self._flow = FlowLayout(self, across=18, down=2)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def links(self) -> Sequence[FigureLink]:
        """The numbers that are shown, in order."""
        return tuple(self._links[: len(self._shown)])

    def set_figures(self, figures: Sequence[Named]) -> None:
        """Show other figures."""
        self._shown = tuple(figures)
        while len(self._links) < len(self._shown):
            self._add_link(len(self._links))
        for link, named in zip(self._links, self._shown, strict=False):
            link.set_figure(named.figure, named.name, named.lacking, named.means)
        # Those that are too many wait: to make one anew has Qt lay out the whole column once more.
        for at, link in enumerate(self._links):
            link.setVisible(at < len(self._shown))
        self.setVisible(bool(self._shown))

    def _add_link(self, position: int) -> None:
        link = FigureLink(self._appearance)
        link.asked.connect(lambda: self._ask(position))
        self._links.append(link)
        self._flow.addWidget(link)

    def _ask(self, position: int) -> None:
        self.asked.emit(self._shown[position].id)
