"""The Compare place as the window shows it."""

from gpuplanner.messages import msg
from gpuplanner.ui.compare_place.page import ComparePage
from gpuplanner.ui.places import Place

COMPARE_PLACE = "compare"


def compare_place() -> Place:
    """The place as the window shows it."""
    return Place(COMPARE_PLACE, "scale", msg("compareui.title"), ComparePage)
