"""The Compare place as the window shows it."""

from gpuplanner.messages import msg
from gpuplanner.ui.places import Context, Page, Place

COMPARE_PLACE = "compare"


def compare_place() -> Place:
    """The place as the window shows it."""

    def make(context: Context) -> Page:
        # Read when it is first visited: the window is there sooner without.
        from gpuplanner.ui.compare_place.page import ComparePage

        return ComparePage(context)

    return Place(COMPARE_PLACE, "scale", msg("compareui.title"), make)
