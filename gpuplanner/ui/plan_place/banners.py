"""What has to be said above the plan until it no longer holds. No widget."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from gpuplanner.messages import Message
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.tokens import Verdict

NOT_SAVED, CONFLICT, OTHER_CATALOG = "not-saved", "conflict", "other-catalog"


@dataclass(frozen=True, slots=True)
class Banner:
    """A sentence that stays until it no longer holds or is closed."""

    id: str
    message: Message
    verdict: Verdict
    actions: Sequence[NoticeAction] = ()
    closable: bool = True


class Banners(QObject):
    """The banners of one page, one of each id."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._banners: tuple[Banner, ...] = ()

    def all(self) -> Sequence[Banner]:
        """The banners, the last said below."""
        return self._banners

    def say(self, banner: Banner) -> None:
        """Say something, in place of what was said under this id."""
        self._show((*(b for b in self._banners if b.id != banner.id), banner))

    def close(self, banner_id: str) -> None:
        """Take a banner away."""
        self._show(tuple(b for b in self._banners if b.id != banner_id))

    def keep_only(self, banner_id: str) -> None:
        """Take every other banner away: another plan is shown. An empty id keeps none."""
        self._show(tuple(b for b in self._banners if b.id == banner_id))

    def _show(self, banners: tuple[Banner, ...]) -> None:
        if banners != self._banners:
            self._banners = banners
            self.changed.emit()
