"""What stands in the palette for a query: quick providers at once, slow ones when their answers come. No widget."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from gpuplanner.messages import Message
from gpuplanner.ui.background import Jobs, Latest
from gpuplanner.ui.palette.items import PaletteItem, PaletteProvider

PER_GROUP = 6
PER_GROUP_EMPTY = 8


@dataclass(frozen=True, slots=True)
class Found:
    """The items of one group, best first."""

    group: Message
    items: tuple[PaletteItem, ...]


class PaletteSearch(QObject):
    """Asks every provider; `changed` says that `found` is another."""

    changed = Signal()

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._providers: list[PaletteProvider] = []
        self._latest: list[Latest] = []
        self._answers: list[tuple[PaletteItem, ...]] = []
        self._asked: set[int] = set()
        self.query = ""

    def add(self, provider: PaletteProvider) -> None:
        """Ask this provider too."""
        self._providers.append(provider)
        self._latest.append(Latest(self._jobs))
        self._answers.append(())

    def ask(self, query: str) -> None:
        """Look for something else. Slow answers to an earlier query are dropped; their last ones stand until then."""
        self.query = query
        for at, provider in enumerate(self._providers):
            if provider.in_background:
                self._ask_beside(at, provider, query)
            else:
                self._answers[at] = self._best(provider.find(query))
        self.changed.emit()

    @property
    def complete(self) -> bool:
        """Whether all have answered: nothing else will be found."""
        return not self._asked

    @property
    def found(self) -> tuple[Found, ...]:
        """What was found, the group with the best item first."""
        groups = [
            Found(provider.group, items)
            for provider, items in zip(self._providers, self._answers, strict=True)
            if items
        ]
        if self.query.strip():
            groups.sort(key=lambda found: -found.items[0].score)
        return tuple(groups)

    def _ask_beside(self, at: int, provider: PaletteProvider, query: str) -> None:
        self._asked.add(at)
        self._latest[at].run(lambda _cancel: provider.find(query), lambda items: self._answer(at, items), urgent=True)

    def _answer(self, at: int, items: Sequence[PaletteItem]) -> None:
        self._asked.discard(at)
        self._answers[at] = self._best(items)
        self.changed.emit()

    def _best(self, items: Sequence[PaletteItem]) -> tuple[PaletteItem, ...]:
        at_most = PER_GROUP if self.query.strip() else PER_GROUP_EMPTY
        return tuple(sorted((i for i in items if i.score > 0), key=lambda item: -item.score)[:at_most])
