"""Exports what a table shows: asks where to, fetches all rows beside the window, writes them, and says so."""

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from gpuplanner.messages import InputError, msg
from gpuplanner.ui.catalog_place.exporting import write_csv
from gpuplanner.ui.places import Context
from gpuplanner.ui.table.copying import CopyFormat
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.tokens import Verdict


class TableExport:
    """Exports the tables of one page."""

    def __init__(self, context: Context, owner: QWidget) -> None:
        self._context = context
        self._owner = owner

    def ask(self, table: DataTable, name: str) -> None:
        """Ask where to write a table, proposing a name, and write it there."""
        title = self._context.appearance.text("catalogui.export.title")
        path, _ = QFileDialog.getSaveFileName(self._owner, title, name, "CSV (*.csv)")
        if path:
            self.write(table, Path(path))

    def write(self, table: DataTable, path: Path) -> None:
        """Write the columns in sight, in their order, of all rows; the filters in force are noted below."""

        def failed(error: Exception) -> None:
            if not isinstance(error, InputError):
                raise error
            self._context.notices.say(error.message, Verdict.FAIL)

        def fetched(found: tuple[int, str]) -> None:
            rows, text = found
            done = msg("catalogui.export.done", rows=f"{rows:,}", file=path.name)
            self._context.jobs.run(
                lambda _cancel: write_csv(path, text),
                lambda _none: self._context.notices.say(done, Verdict.PASS),
                failed,
                title=msg("ui.work.write", file=path.name),
                may_cancel=False,
            )

        table.whole_table(CopyFormat.CSV, fetched)
