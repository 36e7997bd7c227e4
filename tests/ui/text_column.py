"""A column of words, for tables in tests: the places of the window each have cells of their own."""

from typing import Any

from gpuplanner.messages import Message
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.table.columns import NOTHING, Column, Look


def text_column(id_: str, title: Message, **more: Any) -> Column:
    """A column of words."""

    def look(value: Any, _appearance: Appearance) -> Look:
        return NOTHING if value is None or value == "" else Look(str(value))

    return Column(id_, title, look, **more)
