"""The card above the plan that shows a dropped measurement as it was understood, and asks before it is kept."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.catalog.entries import Gpu
from gpuplanner.engine.own_measurements import OwnMeasurement, site_words
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.plan_place.measured.asking import MeasuredAsking
from gpuplanner.ui.plan_place.measured.words import ModelName, measured_rows, run_words
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.flow import FlowLayout
from gpuplanner.ui.widgets.key_value import Row
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox


class MeasuredCard(Card):
    """Hidden as long as nothing waits."""

    def __init__(
        self,
        appearance: Appearance,
        asking: MeasuredAsking,
        model_name: ModelName,
        gpu: Callable[[str], Gpu | None],
    ) -> None:
        super().__init__(appearance, msg("own.window.title"), " ")
        self._appearance = appearance
        self._asking = asking
        self._model_name = model_name
        self._gpu = gpu
        self.of = Label(appearance, "", wrap=True)
        self.problem = NoticeBox(appearance, "", Verdict.WARN)
        self._figures = QWidget()
        self._flow = FlowLayout(self._figures, across=28, down=8)
        self._rows: tuple[Row, ...] = ()
        self._applies = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self.keep = Button(appearance, msg("own.window.keep"), ButtonKind.PRIMARY, small=True)
        self.keep.clicked.connect(asking.keep)
        self.dismiss = Button(appearance, msg("own.window.dismiss"), small=True)
        self.dismiss.clicked.connect(asking.dismiss)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.keep)
        buttons.addWidget(self.dismiss)
        buttons.addWidget(self._applies, 1, Qt.AlignmentFlag.AlignVCenter)
        # Where nothing stands beside them, the buttons stay at the left all the same.
        buttons.addStretch()
        for part in (self.of, self.problem, self._figures):
            self.body.addWidget(part)
        self.body.addLayout(buttons)
        asking.changed.connect(self.refresh)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self.refresh)
        self.refresh()

    def rows(self) -> Sequence[Row]:
        """What it shows as measured."""
        return self._rows

    def refresh(self) -> None:
        """Show what is asked about now."""
        asked = self._asking.asked
        self.setVisible(asked is not None)
        if asked is None:
            return
        more = self._asking.waiting
        self.note.say(msg("own.window.more", file=asked.name, count=more) if more else asked.name)
        understood = asked.understood
        warns = asked.problem or (understood.doubt if understood is not None else None)
        self.problem.setVisible(warns is not None)
        if warns is not None:
            self.problem.say(warns, Verdict.WARN)
        for part in (self.of, self._figures, self._applies):
            part.setVisible(understood is not None)
        self.keep.setEnabled(understood is not None)
        if understood is None:
            return
        kept = understood.measurement
        machine = site_words(kept.site, self._gpu)
        self.of.say(msg("own.window.of", run=run_words(kept, self._model_name), machine=machine))
        of_plan = isinstance(kept, OwnMeasurement)
        self._applies.say(msg("own.window.applies" if of_plan else "own.window.applies_to_machine"))
        self._show(tuple(measured_rows(understood, self._appearance)))

    def _show(self, rows: tuple[Row, ...]) -> None:
        self._rows = rows
        while (item := self._flow.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row in rows:
            self._flow.addWidget(_figure(self._appearance, row))


def _figure(appearance: Appearance, row: Row) -> QWidget:
    """A name, what was measured, and below it what is estimated."""
    one = QWidget()
    layout = QVBoxLayout(one)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(1)
    layout.addWidget(Label(appearance, row.name, TextRole.LABEL, Ink.MUTED))
    layout.addWidget(Label(appearance, row.value, TextRole.STRONG))
    layout.addWidget(Label(appearance, row.note, TextRole.LABEL, Ink.MUTED))
    return one
