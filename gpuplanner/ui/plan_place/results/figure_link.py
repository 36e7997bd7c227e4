"""A number in a line of text that can be asked how it came about: its name muted, the number after it."""

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QFontMetricsF, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.figures import Figure
from gpuplanner.messages import MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, painter_for
from gpuplanner.ui.plan_place.captions import figure_tip
from gpuplanner.ui.tokens import RADIUS_TAG
from gpuplanner.ui.widgets.clickable import Clickable
from gpuplanner.ui.widgets.figure_label import MISSING

_HEIGHT = 22
_SPACE = 5.0


class FigureLink(Clickable):
    """`asked` is emitted by a click; nothing is asked of a number that is not known."""

    asked = Signal()

    def __init__(self, appearance: Appearance, name: MessageValue = "", parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self._name = name
        self._figure: Figure | None = None
        self._lacking: MessageValue = ""
        self._means: MessageValue = ""
        self._widths: tuple[float, float] | None = None
        self._seen: tuple[str, str] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._ask)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)
        self._render()

    def set_figure(
        self,
        figure: Figure | None,
        name: MessageValue | None = None,
        lacking: MessageValue = "",
        means: MessageValue = "",
    ) -> None:
        """Show another number; `lacking` says what is missing where there is none, `means` what it counts."""
        self._figure = figure
        self._lacking = lacking
        self._means = means
        if name is not None:
            self._name = name
        self._render()

    def value_text(self) -> str:
        """The number as it is shown."""
        if self._figure is None:
            return self._appearance.said(self._lacking) or MISSING
        return str(self._appearance.show(self._figure.value, self._figure.unit))

    def sizeHint(self) -> QSize:
        name, value = self._text_widths()
        return QSize(int(name + (_SPACE if name else 0) + value + 5), _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect()).adjusted(2, 0, -2, 0)
        said, value = self._said(), self.value_text()
        name_width, value_width = self._text_widths()
        left = area.left()
        painter.setFont(font(TextRole.LABEL))
        draw_text(painter, QRectF(left, 0, name_width + 1, area.height()), said, tokens.muted)
        at = left + name_width + (_SPACE if said else 0)
        painter.setFont(font(TextRole.NUMBER))
        hot = self.underMouse() and self._figure is not None
        ink = tokens.primary_ink if hot else tokens.text if self._figure is not None else tokens.muted
        draw_text(painter, QRectF(at, 0, value_width + 2, area.height()), value, ink)
        if hot:
            painter.fillRect(QRectF(at, area.center().y() + 8, value_width, 1), tokens.primary_ink)
        self.paint_focus(painter, radius=RADIUS_TAG)

    def _text_widths(self) -> tuple[float, float]:
        """How wide name and value are: measured once, as layouts ask many times."""
        if self._widths is None:
            name = QFontMetricsF(font(TextRole.LABEL)).horizontalAdvance(self._said())
            self._widths = name, QFontMetricsF(font(TextRole.NUMBER)).horizontalAdvance(self.value_text())
        return self._widths

    def _said(self) -> str:
        return self._appearance.said(self._name)

    def _ask(self) -> None:
        if self._figure is not None:
            self.asked.emit()

    def _render(self) -> None:
        said, value = self._said(), self.value_text()
        self.set_clickable(clickable=self._figure is not None)
        tips = [figure_tip(said, self._figure, self._appearance)] if self._figure is not None else []
        tips.append(self._appearance.said(self._means))
        self.setToolTip("\n".join(tip for tip in tips if tip))
        if (said, value) == self._seen:
            return
        self._seen = said, value
        self._widths = None
        self.setText(f"{said} {value}".strip())
        self.setAccessibleName(self.text())
        self.updateGeometry()
        self.update()
