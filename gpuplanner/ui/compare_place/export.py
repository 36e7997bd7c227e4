"""Exports a comparison as it is shown: asks where to, writes CSV or Markdown by the file's name, and says so."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from gpuplanner.messages import InputError, msg
from gpuplanner.ui.catalog_place.exporting import write_csv, write_text
from gpuplanner.ui.compare_place.comparison import ComparedGroup
from gpuplanner.ui.compare_place.subjects import Subject
from gpuplanner.ui.compare_place.wording import as_csv, as_markdown, as_table, source_lines
from gpuplanner.ui.places import Context
from gpuplanner.ui.tokens import Verdict

MARKDOWN = ".md"


class CompareExport:
    """What is shown is what is written: columns in their order, units, and below them the sources."""

    def __init__(self, context: Context, owner: QWidget) -> None:
        self._context = context
        self._owner = owner

    def text(self, subjects: Sequence[Subject], groups: Sequence[ComparedGroup], *, markdown: bool) -> str:
        """The comparison as Markdown, or else as CSV."""
        appearance = self._context.appearance
        table, sources = as_table(subjects, groups, appearance), source_lines(subjects, groups, appearance)
        if not markdown:
            return as_csv(table, sources)
        return as_markdown(table, [appearance.text(group.title) for group in groups], sources)

    def ask(self, subjects: Sequence[Subject], groups: Sequence[ComparedGroup]) -> None:
        """Ask where to write it, and write it there."""
        title = self._context.appearance.text("compareui.export.title")
        kinds = "CSV (*.csv);;Markdown (*.md)"
        path, kind = QFileDialog.getSaveFileName(self._owner, title, "gpuplanner-compare.csv", kinds)
        if path:
            chosen = Path(path)
            if not chosen.suffix and "*.md" in kind:
                chosen = chosen.with_suffix(MARKDOWN)
            self.write(chosen, subjects, groups)

    def write(self, path: Path, subjects: Sequence[Subject], groups: Sequence[ComparedGroup]) -> None:
        """Write it, Markdown where the name ends so, beside the window."""
        markdown = path.suffix.lower() == MARKDOWN
        text = self.text(subjects, groups, markdown=markdown)
        done = msg("compareui.exported", file=path.name)

        def failed(error: Exception) -> None:
            if not isinstance(error, InputError):
                raise error
            self._context.notices.say(error.message, Verdict.FAIL)

        self._context.jobs.run(
            lambda _cancel: (write_text if markdown else write_csv)(path, text),
            lambda _none: self._context.notices.say(done, Verdict.PASS),
            failed,
        )
