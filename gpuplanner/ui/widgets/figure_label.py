"""A number that matters: large, with its unit, and below it how sure it is. A click asks for its explanation."""

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QFontMetricsF, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.figures import Figure
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.tokens import RADIUS_FIELD
from gpuplanner.ui.widgets.clickable import Clickable
from gpuplanner.units import Shown, Unit

MISSING = "—"


def range_text(appearance: Appearance, figure: Figure) -> str:
    """The range of a figure, "27 – 36"; the unit is said where it is not the figure's. Empty for an exact figure."""
    if figure.exact or figure.low == figure.high:
        return ""
    return spread_text(appearance, figure.value, (figure.low, figure.high), figure.unit)


def spread_text(appearance: Appearance, value: float, spread: tuple[float, float], in_unit: Unit) -> str:
    """The ends of a range as they stand under a value."""
    low, high = appearance.show_range(*spread, in_unit, value)
    if low.unit != high.unit:
        return f"{low} – {high}"
    return f"{low.number} – {high.number if high.unit == appearance.show(value, in_unit).unit else high}"


def range_with_unit(appearance: Appearance, figure: Figure) -> str:
    """The range of a figure where its value does not stand beside it, "27 – 36 ms". Empty for an exact figure."""
    if not range_text(appearance, figure):
        return ""
    low, high = appearance.show_range(figure.low, figure.high, figure.unit, figure.value)
    return f"{low.number} – {high}" if low.unit == high.unit else f"{low} – {high}"


def certainty_text(appearance: Appearance, figure: Figure) -> str:
    """What is said under a number: its range, or else what kind of knowledge it is."""
    return range_text(appearance, figure) or appearance.text(Message(f"certainty.{figure.certainty.name.lower()}"))


class FigureLabel(Clickable):
    """Label, number with unit, and a muted line. Without a figure it is a dash, and the line says what is missing."""

    explained = Signal()

    def __init__(
        self,
        appearance: Appearance,
        label: MessageValue,
        figure: Figure | None = None,
        note: MessageValue = "",
        *,
        large: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(appearance, parent)
        self._label = label
        self._figure = figure
        self._note = note
        self._number_role = TextRole.FIGURE if large else TextRole.TITLE
        self._number_height = 32 if large else 22
        self._hints: tuple[QSize, QSize] | None = None
        self._seen: tuple[str, Shown, str] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._ask)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)
        self._render()

    def set_figure(self, figure: Figure | None, note: MessageValue = "", label: MessageValue | None = None) -> None:
        """Show another number. Without a `note` the muted line says the range or the certainty."""
        self._figure = figure
        self._note = note
        if label is not None:
            self._label = label
        self._render()

    def set_label(self, label: MessageValue) -> None:
        """Call it something else."""
        self._label = label
        self._render()

    def shown(self) -> Shown:
        """The number as it is shown."""
        if self._figure is None:
            return Shown(MISSING, "")
        return self._appearance.show(self._figure.value, self._figure.unit)

    def note(self) -> str:
        """The muted line as it is shown."""
        if self._note:
            return self._appearance.said(self._note)
        return certainty_text(self._appearance, self._figure) if self._figure else ""

    def sizeHint(self) -> QSize:
        return self._sizes()[0]

    def minimumSizeHint(self) -> QSize:
        return self._sizes()[1]

    def _sizes(self) -> tuple[QSize, QSize]:
        """The size that is wanted and the least: measured once, as layouts ask many times."""
        if self._hints is None:
            shown = self.shown()
            small = QFontMetricsF(font(TextRole.LABEL))
            number = QFontMetricsF(font(self._number_role)).horizontalAdvance(shown.number)
            unit = small.horizontalAdvance(shown.unit) + 5
            words = max(small.horizontalAdvance(self.text()), small.horizontalAdvance(self.note()))
            height = 20 + self._number_height + 18
            self._hints = QSize(int(max(number + unit, words) + 6), height), QSize(int(number + unit + 4), height)
        return self._hints

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        explainable = self._explainable()
        if self.underMouse() and explainable:
            rounded_box(painter, area.adjusted(-1, 0, 0, 0), RADIUS_FIELD, tokens.hover)
        shown = self.shown()
        painter.setFont(font(TextRole.LABEL))
        draw_text(painter, QRectF(2, 0, area.width() - 2, 20), self.text(), tokens.muted)
        draw_text(painter, QRectF(2, 20 + self._number_height, area.width() - 2, 18), self.note(), tokens.muted)
        number_face = font(self._number_role)
        width = QFontMetricsF(number_face).horizontalAdvance(shown.number)
        baseline = 20 + self._number_height / 2 + QFontMetricsF(number_face).capHeight() / 2
        painter.setFont(number_face)
        painter.setPen(tokens.text)
        painter.drawText(2, int(baseline), shown.number)
        painter.setFont(font(TextRole.LABEL))
        painter.setPen(tokens.muted)
        painter.drawText(int(2 + width + 5), int(baseline), shown.unit)
        self.paint_focus(painter)

    def _explainable(self) -> bool:
        return self._figure is not None

    def _ask(self) -> None:
        if self._explainable():
            self.explained.emit()

    def _render(self) -> None:
        label, shown, note = self._appearance.said(self._label), self.shown(), self.note()
        self.set_clickable(clickable=self._explainable())
        why = self._figure.why if self._figure else None
        tips = [f"{label} {shown}", note, self._appearance.text(why) if why else ""]
        if self._explainable():
            tips.append(self._appearance.text(msg("ui.figure.explain")))
        self.setToolTip("\n".join(tip for tip in tips if tip))
        if (label, shown, note) == self._seen:
            return
        self._seen = label, shown, note
        self._hints = None
        self.setText(label)
        self.setAccessibleName(f"{label} {shown}")
        self.setAccessibleDescription(note)
        self.updateGeometry()
        self.update()
