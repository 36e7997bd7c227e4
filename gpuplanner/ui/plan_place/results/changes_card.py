"""The smallest changes that would fit, each with what it comes to. A click makes the change; undo takes it back."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from gpuplanner.engine.estimate import Change
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.plan_place.results.figure_ids import short_name_of
from gpuplanner.ui.plan_place.verdicts import VERDICTS
from gpuplanner.ui.tokens import RADIUS_FIELD
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.clickable import Clickable
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan

_HEIGHT = 46


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
        while len(self._rows) > len(self._changes):
            row = self._rows.pop()
            self.body.removeWidget(row)
            row.hide()
            row.deleteLater()
        while len(self._rows) < len(self._changes):
            self._add_row(len(self._rows))
        for row, change in zip(self._rows, self._changes, strict=True):
            row.show_change(change)
        self.setVisible(bool(self._changes))

    def rows(self) -> Sequence["ChangeRow"]:
        """The rows, in order."""
        return tuple(self._rows)

    def _add_row(self, position: int) -> None:
        row = ChangeRow(self._appearance)
        row.clicked.connect(lambda: self.chosen.emit(self._changes[position], self._plan))
        self._rows.append(row)
        self.body.addWidget(row)


class ChangeRow(Clickable):
    """What to change at the left, what it comes to at the right."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self._change: Change | None = None
        self._result = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    def show_change(self, change: Change) -> None:
        """Show another change."""
        self._change = change
        self._render()

    def result(self) -> str:
        """What the change comes to."""
        return self._result

    def sizeHint(self) -> QSize:
        return QSize(240, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._change is None:
            return
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        if self.underMouse():
            rounded_box(painter, area, RADIUS_FIELD, tokens.hover)
        tone = tokens.tone(VERDICTS[self._change.fit])
        draw_icon(painter, "check", QRectF(6, 7, 14, 14), tone.ink)
        words = QRectF(28, 4, area.width() - 36, 20)
        painter.setFont(font(TextRole.BODY))
        draw_text(painter, words, self.text(), tokens.primary_ink if self.underMouse() else tokens.text)
        painter.setFont(font(TextRole.LABEL))
        draw_text(painter, words.translated(0, 18), self._result, tokens.muted)
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
        self._result = " · ".join(parts)
        fit = appearance.text(f"fit.{change.fit.name.lower()}")
        self.setAccessibleName(f"{self.text()}; {fit}; {self._result}")
        self.setToolTip(appearance.text("planui.changes.apply", what=self.text(), result=self._result))
        self.update()
