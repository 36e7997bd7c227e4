"""What a plan is called: a person's own words as they are, the names that we give in the language in use. Pure."""

from collections.abc import Iterable

from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.appearance import Appearance


class Titles:
    """Knows the names of the presets in every language: a plan that is still called by one is called so in each."""

    def __init__(self, appearance: Appearance, presets: Iterable[str]) -> None:
        ours = {preset: msg(f"preset.{preset}") for preset in presets}
        ours["new"] = msg("planui.new_name")
        self._ours = {text: message for message in ours.values() for text in appearance.texts(message)}

    def of(self, name: str) -> MessageValue:
        """What to show for the name that a plan has."""
        return self._ours.get(name, name) if name else msg("planui.unnamed")
