"""The verdict in one line, over the results while its card is out of sight. Knows the estimate, no scrolling."""

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.painting import painter_for, rounded_box
from gpuplanner.ui.plan_place.captions import machine_offer, machine_title
from gpuplanner.ui.plan_place.verdicts import verdict_of
from gpuplanner.ui.tokens import PADDING, RADIUS_CARD
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.verdict_tag import VerdictTag

HEIGHT = 38


class VerdictLine(QWidget):
    """`chosen`: a click wants the whole verdict. The keyboard reaches the card itself, which says the same."""

    chosen = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self.tag = VerdictTag(appearance)
        # The reason gives way, never the verdict.
        self.tag.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._machine = Label(appearance, "", TextRole.STRONG)
        self._why = Label(appearance, "", ink=Ink.MUTED, elide=True)
        self.setFixedHeight(HEIGHT)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(PADDING, 0, PADDING, 0)
        layout.setSpacing(10)
        layout.addWidget(self.tag)
        layout.addWidget(self._machine)
        layout.addWidget(self._why)
        layout.addStretch(1)
        appearance.themeChanged.connect(self.update)
        appearance.languageChanged.connect(self._name)
        self._name()

    def show_estimate(self, estimate: Estimate) -> None:
        """Say the verdict of another estimate, with the first reason where it is none to be glad of."""
        self.tag.set_verdict(*verdict_of(estimate.outcome))
        self._machine.say(machine_title(estimate.machine))
        self._why.say(_why(estimate))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self.chosen.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        rounded_box(painter_for(self), QRectF(self.rect()), RADIUS_CARD, tokens.card, tokens.line_strong)

    def _name(self) -> None:
        self.setToolTip(self._appearance.text(msg("planui.verdict_line")))


def _why(estimate: Estimate) -> MessageValue:
    if estimate.fit is not Fit.FITS:
        return estimate.reason
    return next(iter(estimate.unmet), machine_offer(estimate.machine))
