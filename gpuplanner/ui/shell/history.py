"""Back and forward, as in a browser. No Qt: it keeps locations and knows no widget."""

from gpuplanner.ui.places import Location

KEPT = 100


class History:
    """Where a person has been. Going somewhere new forgets what lay ahead."""

    def __init__(self) -> None:
        self._behind: list[Location] = []
        self._here: Location | None = None
        self._ahead: list[Location] = []

    @property
    def here(self) -> Location | None:
        """Where the person is now."""
        return self._here

    @property
    def can_go_back(self) -> bool:
        """Whether something lies behind."""
        return bool(self._behind)

    @property
    def can_go_forward(self) -> bool:
        """Whether something lies ahead."""
        return bool(self._ahead)

    def visit(self, location: Location) -> None:
        """Go somewhere. Staying where one is changes nothing."""
        if location == self._here:
            return
        if self._here is not None:
            self._behind = [*self._behind, self._here][-KEPT:]
        self._here = location
        self._ahead = []

    def back(self) -> Location | None:
        """Step back; None when nothing lies behind."""
        if not self._behind or self._here is None:
            return None
        self._ahead.append(self._here)
        self._here = self._behind.pop()
        return self._here

    def forward(self) -> Location | None:
        """Step forward; None when nothing lies ahead."""
        if not self._ahead or self._here is None:
            return None
        self._behind.append(self._here)
        self._here = self._ahead.pop()
        return self._here
