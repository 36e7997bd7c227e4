"""What a place of the window is: its entry in the rail, and the page that it makes when it is first visited.

To add a place: write a `Page`, and hand a `Place` to the shell in `application.py`. Nothing else knows about it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpuplanner.messages import Message, MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Jobs
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.palette.items import PaletteProvider
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.widgets.button import ButtonKind


@dataclass(frozen=True, slots=True)
class Location:
    """Where a person is or wants to go: a place, and what in it, as the place itself writes it ("gpu/h100-sxm")."""

    place: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """What a page is given: everything is wired once, in `application.py`. `go` leads to another place.

    `workspace` is the catalog, the store and the settings opened together. `reset_layout` puts the window back to how
    it looks at first, `read_again` reads the catalog and the person's own files anew.
    """

    appearance: Appearance
    settings: Settings
    jobs: Jobs
    notices: Notices
    go: Callable[[Location], None]
    workspace: Any
    reset_layout: Callable[[], object] = lambda: None
    read_again: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class PageAction:
    """Something to do on a page: a button in the top bar, and an entry of the palette.

    `shortcut` is as Qt writes it ("Ctrl+Z"). With `in_bar` false the palette alone offers it.
    """

    id: str
    label: Message
    run: Callable[[], object]
    kind: ButtonKind = ButtonKind.PLAIN
    icon: str = ""
    shortcut: str = ""
    enabled: bool = True
    in_bar: bool = True


@dataclass(frozen=True, slots=True)
class Segment:
    """One of a few views of a page, chosen in the top bar; `note` stands muted beside the label (a count)."""

    id: str
    label: Message
    note: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """What the top bar says about a page: a title with a note, or segments; and the actions on the right.

    A title that is text is somebody's own (the name of a plan); a message is ours.
    """

    title: MessageValue = ""
    note: MessageValue = ""
    segments: tuple[Segment, ...] = ()
    segment: str = ""
    actions: tuple[PageAction, ...] = field(default=())


class Page(QWidget):
    """A page of a place. Override what applies; emit `headingChanged` when `heading` would say something else."""

    headingChanged = Signal()
    moved = Signal(str)
    """The person went somewhere on this page: its new path, for back and forward."""
    workSaid = Signal(object)
    """What runs here, or ran last and how long it took, as a message or None: for the status bar."""

    def heading(self) -> Heading:
        """What the top bar shows."""
        return Heading()

    def choose_segment(self, segment_id: str) -> None:
        """A segment of the heading was chosen."""

    def path(self) -> str:
        """Where on this page the person is."""
        return ""

    def visit(self, path: str) -> None:
        """Go to a path that this page or another place gave. An unknown one is as good as none."""

    def panes(self) -> Sequence[QWidget]:
        """The parts that F6 cycles through, each able to take the focus."""
        return ()

    def leave(self) -> bool:
        """Close the innermost thing that is open (Esc). Tells whether there was one."""
        return False

    def dropped(self, paths: Sequence[str]) -> bool:
        """Files were dropped on or pasted into the window. Tells whether this page takes them."""
        return False

    def pasted(self, text: str) -> bool:
        """Text was pasted outside of any field. Tells whether this page takes it."""
        return False

    def focus_first(self) -> None:
        """Put the keyboard where work on this page begins."""
        panes = self.panes()
        if panes:
            panes[0].setFocus()

    def close_page(self) -> None:
        """The window closes: stop what runs, save what is not saved."""

    def carried(self) -> Any:
        """What the page that is made in place of this one goes on with, such as what can be undone. None is nothing."""
        return None

    def carry_on(self, carried: Any) -> None:
        """Go on with what the page before this one `carried`, as far as it still holds."""


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the rail. `make` is called once, when the place is first visited."""

    id: str
    icon: str
    title: Message
    make: Callable[[Context], Page]
    shortcut: str = ""
    takes: Callable[[str], bool] | None = None
    """Whether files of this name belong here, when they are dropped or opened while another place is shown."""
    providers: Callable[[Context], Sequence[PaletteProvider]] | None = None
    """What the palette finds of this place, whether it has been visited or not."""
