"""What a command works with: the workspace, the language, and how numbers are shown."""

import json
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuplanner.figures import Figure
from gpuplanner.messages import InputError, Message, MessageValue, Translator
from gpuplanner.units import Display, Shown, Unit, show, show_range

if TYPE_CHECKING:
    from gpuplanner.workspace import Workspace


_OBEYED = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Controls of eight bits and marks that turn the direction of a line; JSON itself escapes those of seven bits."""
MOST_PROBLEMS = 20
"""Lines about overlays before an answer; the window lists them all."""


class NothingFoundError(InputError):
    """Nothing is wrong with what was asked; there is just nothing that answers it, and the exit code says so."""


@dataclass
class Context:
    """One call of the command line."""

    translator: Translator
    code: int = 0
    """The exit code that what was found asks for, set before it is printed: it counts where nobody reads to the end."""

    @classmethod
    def open(cls, translator: Translator) -> "Context":
        """A context in that language; the workspace is opened when a command first needs it."""
        return cls(translator)

    @cached_property
    def workspace(self) -> "Workspace":
        """The catalog, the store and the settings. What is wrong with a person's files goes to stderr."""
        from gpuplanner.workspace import Workspace, home_folder

        workspace = Workspace(home_folder())
        problems = workspace.catalog.problems
        for problem in problems[:MOST_PROBLEMS]:
            print(f"gpuplanner: {self.text(problem.message)}", file=sys.stderr)
        if len(problems) > MOST_PROBLEMS:
            print(f"gpuplanner: {self.text('cli.more_problems', count=len(problems) - MOST_PROBLEMS)}", file=sys.stderr)
        return workspace

    def say_left_out(self) -> None:
        """Say on stderr which of the person's measurements could not be used, where a command has looked at them."""
        if "workspace" in self.__dict__:
            for problem in self.workspace.own_problems[:MOST_PROBLEMS]:
                print(f"gpuplanner: {self.text(problem)}", file=sys.stderr)

    @cached_property
    def display(self) -> Display:
        """How numbers are shown: as in the settings. What went wrong with the store on the way goes to stderr."""
        display = self.workspace.display()
        for note in self.workspace.store_notes:
            print(f"gpuplanner: {self.text(note)}", file=sys.stderr)
        return display

    def text(self, message: Message | str, **values: MessageValue) -> str:
        """A message in the language of this call."""
        return self.translator.text(message, **values)

    def number(self, value: float, unit: Unit) -> str:
        """A value as a person reads it."""
        return str(self._translated(show(value, unit, self.display)))

    def range(self, figure: Figure) -> str:
        """The range of a figure as "27–36 ms", or nothing when it is exact."""
        if figure.low == figure.high:
            return ""
        ends = show_range(figure.low, figure.high, figure.unit, self.display, figure.value)
        low, high = (self._translated(end) for end in ends)
        return f"{low.number}–{high}" if low.unit == high.unit else f"{low} – {high}"

    def _translated(self, shown: Shown) -> Shown:
        return Shown(shown.number, self.translator.unit(shown.unit))


def print_json(content: Any) -> None:
    """Print JSON as other programs read it: unknown is null, never NaN; what a terminal would obey is escaped."""
    text = json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
    print(_OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))
