"""The settings' list of what a person measured: each with what it is of, used or left out, and removed with undo."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.messages import InputError, Message, msg
from gpuplanner.store.own_measurements import keep_own, remove_own, switch_own
from gpuplanner.store.settings import OWN_MEASUREMENTS
from gpuplanner.ui.background import Cancel, Latest
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.palette.items import match
from gpuplanner.ui.places import Context
from gpuplanner.ui.settings_page.kept_measurements import KeptMeasurement, kept_measurements
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card, line
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.segmented import Option, Segmented

ON, OFF = "on", "off"
SEARCHED = ("own.window.list", "own.window.list.help", "own.window.words")
"""Where the words stand by which it is found."""


class OwnMeasurements(Card):
    """Read anew in another thread whenever it is asked to: what is kept changes in the Plan place too."""

    def __init__(self, context: Context) -> None:
        super().__init__(context.appearance, msg("own.window.list"))
        self._context = context
        self._home = Path(context.workspace.home)
        self._latest = Latest(context.jobs)
        self._kept: tuple[KeptMeasurement, ...] = ()
        self.rows: list[MeasurementRow] = []
        help_text = Label(context.appearance, msg("own.window.list.help"), TextRole.LABEL, Ink.MUTED, wrap=True)
        self._none = Label(context.appearance, msg("own.window.none"), ink=Ink.MUTED)
        self._list = QVBoxLayout()
        self._list.setSpacing(10)
        self.body.addWidget(help_text)
        self.body.addWidget(self._none)
        self.body.addLayout(self._list)
        for signal in (context.appearance.languageChanged, context.appearance.displayChanged):
            signal.connect(self.refresh)
        context.appearance.settingChanged.connect(self._setting_changed)

    def refresh(self) -> None:
        """Show what is kept now."""

        def work(_cancel: Cancel) -> tuple[KeptMeasurement, ...]:
            return kept_measurements(self._home, self._context.workspace.catalog, self._context.appearance)

        self._latest.run(work, self._show)

    def matches(self, query: str) -> bool:
        """Whether these are meant by what was typed, in either language."""
        texts = [text for name in SEARCHED for text in self._context.appearance.texts(Message(name))]
        return not query.strip() or match(query, *texts, *(kept.name for kept in self._kept)) > 0

    def stop(self) -> None:
        """Nothing more is to be shown."""
        self._latest.cancel()

    def _show(self, kept: tuple[KeptMeasurement, ...]) -> None:
        self._none.setVisible(not kept)
        if [one.id for one in kept] != [one.id for one in self._kept]:
            self._make(kept)
        self._kept = kept
        all_used = self._context.settings.get(OWN_MEASUREMENTS) == ON
        for row, one in zip(self.rows, kept, strict=True):
            row.show_kept(one, counts=all_used)

    def _make(self, kept: Sequence[KeptMeasurement]) -> None:
        while (item := self._list.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.rows = []
        for one in kept:
            if self.rows:
                self._list.addWidget(line(self._context.appearance))
            row = MeasurementRow(self._context, one)
            row.use.chosen.connect(lambda choice, wanted=one.id: self._switch(wanted, used=choice == ON))
            row.remove.clicked.connect(lambda _checked=False, wanted=one.id: self._remove(wanted))
            self.rows.append(row)
            self._list.addWidget(row)

    def _switch(self, measurement_id: str, *, used: bool) -> None:
        if self._done(lambda: switch_own(self._home, measurement_id, used=used)):
            self.refresh()

    def _remove(self, measurement_id: str) -> None:
        one = next(kept for kept in self._kept if kept.id == measurement_id)
        if self._done(lambda: remove_own(self._home, measurement_id)):
            undo = NoticeAction(msg("ui.undo"), lambda: self._put_back(one))
            self._context.notices.say(msg("own.window.removed", file=one.name), Verdict.PASS, undo)
            self.refresh()

    def _put_back(self, one: KeptMeasurement) -> None:
        if self._done(lambda: keep_own(self._home, one.measurement)):
            self.refresh()

    def _setting_changed(self, key: str) -> None:
        if key == OWN_MEASUREMENTS.key:
            self.refresh()

    def _done(self, change: Callable[[], object]) -> bool:
        try:
            change()
        except InputError as fault:
            self._context.notices.say(fault.message, Verdict.FAIL)
            return False
        self._context.workspace.measurements_changed()
        return True


class MeasurementRow(QWidget):
    """One measurement: its file and day, what it is of, what was measured; used or left out; a way to remove it."""

    def __init__(self, context: Context, one: KeptMeasurement) -> None:
        super().__init__()
        appearance = context.appearance
        self._name = Label(appearance, one.name, TextRole.STRONG, wrap=True)
        self._of = Label(appearance, "", wrap=True)
        self._measured = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self.use = Segmented(
            appearance,
            [Option(ON, msg("own.window.on")), Option(OFF, msg("own.window.off"))],
            ON,
            msg("own.window.use", file=one.name),
        )
        self.remove = Button(appearance, msg("own.window.remove"), ButtonKind.QUIET, icon="trash-2", icon_only=True)
        words = QVBoxLayout()
        words.setSpacing(2)
        for label in (self._name, self._of, self._measured):
            words.addWidget(label)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 2)
        layout.setSpacing(10)
        layout.addLayout(words, 1)
        layout.addWidget(self.use, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.remove, 0, Qt.AlignmentFlag.AlignTop)

    def show_kept(self, one: KeptMeasurement, *, counts: bool) -> None:
        """Show it as it is now. `counts`: measurements are used at all."""
        self._name.say(one.name)
        self._of.say(one.of)
        self._measured.say(f"{one.measured} · {one.date}")
        self.use.choose(ON if one.measurement.used else OFF)
        self.use.setEnabled(counts)
