"""Wires the window, once: application, appearance, workspace, jobs, places. Nothing else makes these objects."""

import sys
from collections.abc import Sequence
from datetime import date
from typing import Any

from PySide6.QtWidgets import QApplication

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Cancel, Jobs
from gpuplanner.ui.compositing import composited
from gpuplanner.ui.crash import catch_crashes
from gpuplanner.ui.fonts import load_fonts
from gpuplanner.ui.help_page.page import help_place
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.palette.items import PaletteProvider
from gpuplanner.ui.palette.providers import ActionProvider, GlossaryProvider, SettingProvider
from gpuplanner.ui.places import Context, Heading, Location, Place
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.settings_page.page import settings_place
from gpuplanner.ui.shell.window import Window
from gpuplanner.ui.single_instance import SingleInstance, hand_over, server_name
from gpuplanner.ui.theme import Dresser
from gpuplanner.ui.tokens import Verdict


def places() -> tuple[Place, ...]:
    """The places of the rail, in order. One stands here when it works."""
    return ()


class Session:
    """Everything that lives as long as the window. `workspace` is what `gpuplanner.workspace.Workspace` is."""

    def __init__(
        self,
        dresser: Dresser,
        workspace: Any,
        settings: Settings,
        shown: Sequence[Place],
    ) -> None:
        self.appearance = Appearance(settings)
        self.dresser = dresser
        self.dresser.dress(self.appearance.tokens)
        # Connected first, so that the palette is right when widgets hear of the change.
        self.appearance.themeChanged.connect(self._dress)
        self.jobs = Jobs()
        self.notices = Notices()
        context = Context(self.appearance, settings, self.jobs, self.notices, self._go, workspace)
        self.window = Window(context, shown, foot=(help_place(), settings_place(date.today)))
        providers: list[PaletteProvider] = [
            ActionProvider(self.appearance, (*shown, help_place()), self._heading, self._go),
            SettingProvider(self.appearance),
            GlossaryProvider(self.appearance, self._go),
        ]
        for place in shown:
            providers += place.providers(context) if place.providers else ()
        for provider in providers:
            self.window.add_provider(provider)
        self._workspace = workspace

    def open_catalog(self) -> None:
        """Read the catalog beside the window, and say in the status bar what it holds."""
        self.window.status_bar.show_catalog(msg("ui.status.catalog.reading"))
        self.jobs.run(self._read_catalog, self._catalog_read, urgent=True)

    def close(self) -> None:
        """Stop what runs."""
        self.jobs.close()

    def _read_catalog(self, _cancel: Cancel) -> Any:
        return self._workspace.catalog

    def _catalog_read(self, catalog: Any) -> None:
        self.appearance.learn_rates(self._workspace.rates)
        says = msg(
            "ui.status.catalog",
            date=catalog.date,
            gpus=len(catalog.gpus),
            instances=len(catalog.instances),
            models=len(catalog.models),
        )
        self.window.status_bar.show_catalog(says)
        for problem in catalog.problems:
            self.notices.say(problem.message, Verdict.WARN)

    def _dress(self) -> None:
        self.dresser.dress(self.appearance.tokens)

    def _go(self, location: Location) -> None:
        self.window.go(location)

    def _heading(self) -> Heading:
        page = self.window.current_page()
        return page.heading() if page else Heading()


def main(argv: Sequence[str]) -> int:
    """Open the window with the plans named in `argv`, or hand them to a window that is already open.

    Returns the exit code.
    """
    from gpuplanner.workspace import Workspace, home_folder

    application = QApplication([sys.argv[0]])
    application.setApplicationName("gpuplanner")
    application.setDesktopFileName("gpuplanner")
    home = home_folder()
    name = server_name(home)
    if hand_over(name, argv):
        return 0
    load_fonts()
    workspace = Workspace(home)
    session = Session(Dresser(application, native=not composited(application)), workspace, workspace.settings, places())
    catch_crashes(session.appearance, lambda: session.window)
    first = SingleInstance(name)
    first.handed.connect(lambda files: _raise(session.window, files))
    session.window.restore_geometry()
    session.window.start()
    session.window.show()
    session.open_catalog()
    if argv:
        session.window.open_files(list(argv))
    code = application.exec()
    first.close()
    session.close()
    return code


def _raise(window: Window, files: list[str]) -> None:
    window.raise_()
    window.activateWindow()
    if files:
        window.open_files(files)
