"""Adds a GPU that a person types in to their own entries: asks, keeps in another thread, says what became of it."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.messages import InputError, msg
from gpuplanner.store.own_gpus import Added, NewGpu, add_gpu
from gpuplanner.ui.background import Cancel
from gpuplanner.ui.catalog_place.new_gpu_popup import NewGpuPopup
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.places import Context
from gpuplanner.ui.tokens import GAP, Verdict


class AddingGpus:
    """Opens the pop-up over a page. `catalog` gives the catalog once it has been read."""

    def __init__(self, context: Context, page: QWidget, catalog: Callable[[], Catalog | None]) -> None:
        self._context = context
        self._page = page
        self._catalog = catalog
        self.popup: NewGpuPopup | None = None

    def ask(self) -> None:
        """Ask for the GPU."""
        if self._catalog() is None:
            return
        self.popup = popup = NewGpuPopup(self._context.appearance, self._page)
        popup.wanted.connect(self._keep)
        popup.destroyed.connect(self._closed)
        popup.open_at(self._page.mapToGlobal(QPoint(max(self._page.width() - popup.width() - GAP, 0), GAP)))

    def _closed(self) -> None:
        self.popup = None

    def _keep(self, new: NewGpu) -> None:
        home, catalog = Path(self._context.workspace.home), self._catalog()
        if catalog is None:
            return
        known = catalog

        def work(_cancel: Cancel) -> Added:
            return add_gpu(home, new, known)

        self._context.jobs.run(work, self._kept, self._refused)

    def _kept(self, added: Added) -> None:
        if self.popup is not None:
            self.popup.close()
        notices = self._context.notices
        for warning in added.warnings:
            notices.say(warning, Verdict.WARN)
        undo = NoticeAction(msg("ui.undo"), lambda: self._take_back(added.path))
        notices.say(msg("answers.newgpu.kept", name=added.gpu.name), Verdict.PASS, undo, sticky=True)
        self._context.read_again()

    def _take_back(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._context.read_again()

    def _refused(self, fault: Exception) -> None:
        if not isinstance(fault, InputError):
            raise fault
        if self.popup is not None:
            self.popup.refuse(fault.message)
        else:
            self._context.notices.say(fault.message, Verdict.FAIL)
