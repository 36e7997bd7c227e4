"""The Machines place as the window shows it."""

from gpuplanner.messages import msg
from gpuplanner.ui.machines_place.palette import HostProvider
from gpuplanner.ui.places import Context, Page, Place

MACHINES_PLACE = "machines"
_OURS = (".gpurun",)


def machines_place() -> Place:
    """The place as the window shows it."""

    def make(context: Context) -> Page:
        # Read when it is first visited: the window is there sooner without.
        from gpuplanner.ui.machines_place.page import MachinesPage

        return MachinesPage(context)

    return Place(
        MACHINES_PLACE,
        "server",
        msg("machinesui.title"),
        make,
        takes=lambda path: path.endswith(_OURS),
        providers=lambda context: (HostProvider(context, MACHINES_PLACE),),
    )
