"""What the palette finds of this place: this computer, hosts, the recorded sample. Knows no widget."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from gpuplanner.machines.ssh_hosts import ssh_hosts
from gpuplanner.messages import InputError, msg
from gpuplanner.store.machine_shelf import MachineShelf
from gpuplanner.ui.machines_place.shown import HERE, SAMPLE
from gpuplanner.ui.palette.items import PaletteItem, match
from gpuplanner.ui.places import Context, Location

_AT_MOST = 30


class HostProvider:
    """Hosts that a person added or has in the SSH configuration, by their name; nothing for an empty query."""

    group = msg("runsui.palette")
    in_background = True

    def __init__(self, context: Context, place: str) -> None:
        self._appearance = context.appearance
        self._workspace = context.workspace
        self._go = context.go
        self._place = place

    def find(self, query: str) -> Sequence[PaletteItem]:
        """Machines that match."""
        if not query.strip():
            return ()
        text, texts = self._appearance.text, self._appearance.texts
        here, sample = msg("machinesui.kind.here"), msg("runsui.open_sample")
        items = [
            PaletteItem(f"machine.{target}", text(says), self._to(target), icon=icon, score=match(query, *texts(says)))
            for target, says, icon in ((HERE, here, "server"), (SAMPLE, sample, "flag"))
        ]
        own = self._hosts()
        configured = [name for name in ssh_hosts(Path.home()) if name not in own]
        for names, note in ((own, "SSH"), (configured, "~/.ssh/config")):
            found = [(score, name) for name in names if (score := match(query, name)) > 0]
            items += [
                PaletteItem(f"machine.{name}", name, self._to(name), note=note, icon="server", score=score)
                for score, name in sorted(found, reverse=True)[:_AT_MOST]
            ]
        return items

    def _to(self, target: str) -> partial[None]:
        return partial(self._go, Location(self._place, target))

    def _hosts(self) -> tuple[str, ...]:
        try:
            return MachineShelf(self._workspace.store).hosts()
        except InputError:
            return ()
