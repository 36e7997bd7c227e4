"""What was watched as a file: a picture, a drawing, its numbers, or the session itself, which opens again."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from gpuplanner.messages import InputError, msg
from gpuplanner.probe.live_session import MOST_BYTES, LiveSession, of_bytes, to_bytes
from gpuplanner.ui.background import Cancel
from gpuplanner.ui.machines_place.live.metrics import Metric
from gpuplanner.ui.machines_place.live.sheet import Sheet
from gpuplanner.ui.machines_place.live.strip_view import StripView
from gpuplanner.ui.machines_place.live.tables import as_csv
from gpuplanner.ui.places import Context
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets import chart_export

SESSION = ".gplive"
FILTERS = {**chart_export.FILTERS, SESSION: f"gpuplanner (*{SESSION})"}


@dataclass(frozen=True, slots=True)
class InSight:
    """What the card shows: as the session that holds it, and how much of it."""

    session: LiveSession
    title: str
    strips: Sequence[StripView]
    metrics: Sequence[Metric]
    span_s: float


def _numbers(session: LiveSession, metrics: Sequence[Metric], span_s: float, suffix: str) -> bytes:
    if suffix == ".csv":
        return as_csv(session.telemetry, metrics, span_s, session.began).encode()
    return to_bytes(session)


class Saving:
    """Writes and opens files; `opened` gets a session that was read. Says what came of it as a notice."""

    def __init__(
        self, context: Context, over: QWidget, in_sight: Callable[[], InSight], opened: Callable[[LiveSession], object]
    ) -> None:
        """`over`: the widget that the dialogs for files stand over."""
        self._context = context
        self._over = over
        self._in_sight = in_sight
        self._opened = opened

    def add_to(self, menu: QMenu, *, anything: bool) -> None:
        """Offer it. `anything`: whether there is something to write."""
        text = self._context.appearance.text
        for suffix in FILTERS:
            action = menu.addAction(text(f"liveui.export{suffix}"), lambda wanted=suffix: self._ask_export(wanted))
            action.setEnabled(anything)
        menu.addAction(text("liveui.open"), self._ask_open)

    def export(self, path: Path) -> None:
        """Write what is shown, as the file's name says: PNG, SVG, CSV or a session."""
        shown, suffix = self._in_sight(), path.suffix.lower()
        sheet = Sheet(shown.strips, shown.title, self._context.appearance.tokens)
        if suffix == ".png":
            content = partial(bytes, sheet.picture())
        elif suffix == ".svg":
            content = partial(bytes, sheet.drawing())
        else:
            # Made beside the window, of how it is now: samples go on coming.
            content = partial(_numbers, copy.deepcopy(shown.session), shown.metrics, shown.span_s, suffix)
        done = msg("liveui.exported", file=path.name)
        self._context.jobs.run(
            lambda _cancel: chart_export.write(path, content()),
            lambda _none: self._context.notices.say(done, Verdict.PASS),
            self._say_failed,
        )

    def open_file(self, path: Path) -> None:
        """Show a session that was kept in a file."""

        def read(_cancel: Cancel) -> LiveSession:
            try:
                with path.open("rb") as file:
                    return of_bytes(file.read(MOST_BYTES))
            except OSError as error:
                why = error.strerror or str(error)
                raise InputError(msg("liveui.open.failed", file=path.name, why=why)) from error

        self._context.jobs.run(read, self._opened, self._say_failed)

    def _ask_export(self, suffix: str) -> None:
        name = f"gpuplanner-live-{datetime.now(UTC):%Y%m%d-%H%M}{suffix}"
        title = self._context.appearance.text(f"liveui.export{suffix}")
        path, _ = QFileDialog.getSaveFileName(self._over, title, name, FILTERS[suffix])
        if path:
            chosen = Path(path)
            self.export(chosen if chosen.suffix.lower() == suffix else chosen.with_name(chosen.name + suffix))

    def _ask_open(self) -> None:
        title = self._context.appearance.text("liveui.open")
        path, _ = QFileDialog.getOpenFileName(self._over, title, "", FILTERS[SESSION])
        if path:
            self.open_file(Path(path))

    def _say_failed(self, error: Exception) -> None:
        if not isinstance(error, InputError):
            raise error
        self._context.notices.say(error.message, Verdict.FAIL)
