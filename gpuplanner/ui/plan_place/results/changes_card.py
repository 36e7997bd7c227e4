"""The smallest changes that would fit, each with what it comes to. A click makes the change; undo takes it back."""

import math
from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from gpuplanner.engine.estimate import Change, Outcome
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.plan_place.results.figure_ids import short_name_of
from gpuplanner.ui.plan_place.verdicts import OUTCOMES
from gpuplanner.ui.tokens import MARKS, RADIUS_FIELD
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.clickable import Clickable
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan

_LEFT, _RIGHT = 28, 8
"""Beside the words: the mark at the left, air at the right."""
_AIR = 5
_WRAP = int(Qt.TextFlag.TextWordWrap) | int(Qt.AlignmentFlag.AlignLeft) | int(Qt.AlignmentFlag.AlignTop)


class ChangesCard(Card):
    """`chosen` carries the change and the plan that it changes."""

    chosen = Signal(object, object)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, msg("planui.changes"), msg("planui.changes.note"))
        self._appearance = appearance
        self._changes: tuple[Change, ...] = ()
        self._plan: Plan | None = None
        self._rows: list[ChangeRow] = []
        self.body.setSpacing(0)

    def show_changes(self, changes: Sequence[Change], plan: Plan) -> None:
        """Show other changes of this plan; without any there is no card."""
        self._changes = tuple(changes)
        self._plan = plan
        while len(self._rows) < len(self._changes):
            self._add_row(len(self._rows))
        for at, row in enumerate(self._rows):
            row.setVisible(at < len(self._changes))
        for row, change in zip(self._rows, self._changes, strict=False):
            row.show_change(change)
        self.setVisible(bool(self._changes))

    def rows(self) -> Sequence["ChangeRow"]:
        """The rows that are shown, in order."""
        return tuple(self._rows[: len(self._changes)])

    def _add_row(self, position: int) -> None:
        row = ChangeRow(self._appearance)
        row.clicked.connect(lambda: self.chosen.emit(self._changes[position], self._plan))
        self._rows.append(row)
        self.body.addWidget(row)


class ChangeRow(Clickable):
    """What to change, in as many lines as it takes, and below it what it comes to."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self._change: Change | None = None
        self._result = ""
        self._seen: tuple[str, str, Outcome] | None = None
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    def show_change(self, change: Change) -> None:
        """Show another change."""
        self._change = change
        self._render()

    def result(self) -> str:
        """What the change comes to."""
        return self._result

    def mark(self) -> str:
        """The mark of the verdict that it leads to: a colour alone would not tell everybody."""
        return MARKS[OUTCOMES[self._change.outcome]] if self._change is not None else ""

    def sizeHint(self) -> QSize:
        return QSize(240, self.heightForWidth(max(240, self.width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return sum(self._heights(width)) + 2 * _AIR

    def _heights(self, width: int) -> tuple[int, int]:
        """How high the change and its result are."""
        room = QRectF(0, 0, max(60, width - _LEFT - _RIGHT), 1000)
        faces = zip((TextRole.BODY, TextRole.LABEL), (self.text(), self._result), strict=True)
        heights = (QFontMetricsF(font(role)).boundingRect(room, _WRAP, text).height() for role, text in faces)
        what, result = (math.ceil(height) for height in heights)
        return what + 2, result

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._change is None:
            return
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        if self.underMouse():
            rounded_box(painter, area, RADIUS_FIELD, tokens.hover)
        painter.setFont(font(TextRole.STRONG))
        draw_text(painter, QRectF(8, _AIR, 14, 16), self.mark(), tokens.tone(OUTCOMES[self._change.outcome]).ink)
        what, result = self._heights(self.width())
        width = area.width() - _LEFT - _RIGHT
        painter.setFont(font(TextRole.BODY))
        painter.setPen(QColor(tokens.primary_ink if self.underMouse() else tokens.text))
        painter.drawText(QRectF(_LEFT, _AIR, width, what), _WRAP, self.text())
        painter.setFont(font(TextRole.LABEL))
        painter.setPen(QColor(tokens.muted))
        painter.drawText(QRectF(_LEFT, _AIR + what, width, result), _WRAP, self._result)
        self.paint_focus(painter)

    def _render(self) -> None:
        change, appearance = self._change, self._appearance
        if change is None:
            return
        self.setText(appearance.text(change.what))
        free = str(appearance.show(change.free_bytes, Unit.BYTE))
        parts = [appearance.text("planui.changes.free", free=free)]
        if change.headline is not None:
            value = appearance.show(change.headline.value, change.headline.unit)
            parts.insert(0, f"{short_name_of(f'metric.{change.headline_id}', appearance)} {value}")
        if change.gives_up:
            parts.append(appearance.text("change.gives_up"))
        self._result = " · ".join(parts)
        fit = appearance.text(f"fit.{change.outcome.name.lower()}")
        self.setAccessibleName(f"{self.text()}; {fit}; {self._result}")
        self.setToolTip(appearance.text("planui.changes.apply", what=self.text(), result=self._result))
        if (self.text(), self._result, change.outcome) != self._seen:
            self._seen = self.text(), self._result, change.outcome
            self.updateGeometry()
            self.update()
