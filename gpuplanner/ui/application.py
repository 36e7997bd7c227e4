"""Wires the window, once: application, appearance, workspace, jobs, places. Nothing else makes these objects."""

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from gpuplanner.messages import InputError, Message, Translator, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Cancel, Jobs
from gpuplanner.ui.collecting import Collector
from gpuplanner.ui.compositing import composited
from gpuplanner.ui.crash import catch_crashes
from gpuplanner.ui.fonts import lighten_strokes
from gpuplanner.ui.help_page.page import help_place
from gpuplanner.ui.icons import application_icon
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.palette.items import PaletteProvider
from gpuplanner.ui.palette.providers import ActionProvider, GlossaryProvider, OwnFilesProvider, SettingProvider
from gpuplanner.ui.places import Context, Heading, Location, Place
from gpuplanner.ui.settings import ForgivingSettings, MemorySettings, Settings
from gpuplanner.ui.settings_page.page import settings_place
from gpuplanner.ui.shell.window import Window
from gpuplanner.ui.single_instance import SingleInstance, hand_over, server_name
from gpuplanner.ui.store_watch import watch_store
from gpuplanner.ui.theme import Dresser
from gpuplanner.ui.tokens import Verdict

FIRST_PLACE = "plan"
"""Where somebody starts who has never been here."""


def places() -> tuple[Place, ...]:
    """The places of the rail, in order. One stands here when it works."""
    from gpuplanner.ui.catalog_place.place import catalog_place
    from gpuplanner.ui.compare_place.place import compare_place
    from gpuplanner.ui.machines_place.place import machines_place
    from gpuplanner.ui.plan_place.page import plan_place

    return (catalog_place(), plan_place(), machines_place(), compare_place())


class Session:
    """Everything that lives as long as the window. `workspace` is what `gpuplanner.workspace.Workspace` is."""

    def __init__(
        self,
        dresser: Dresser,
        workspace: Any,
        settings: Settings,
        shown: Sequence[Place],
        notices: Notices | None = None,
    ) -> None:
        self.appearance = Appearance(settings)
        self.dresser = dresser
        self.dresser.dress(self.appearance.tokens)
        # Connected first, so that the palette is right when widgets hear of the change.
        self.appearance.themeChanged.connect(self._dress)
        self.collector = Collector()
        self.jobs = Jobs()
        self.notices = notices or Notices()
        self._workspace = workspace
        self._waiting: list[str] = []
        self._begun = False
        context = Context(
            self.appearance,
            settings,
            self.jobs,
            self.notices,
            self._go,
            workspace,
            reset_layout=self._reset_layout,
            read_again=self.read_again,
        )
        help_, preferences = help_place(len(shown)), settings_place(date.today)
        self.window = Window(context, shown, foot=(help_, preferences))
        providers: list[PaletteProvider] = [
            ActionProvider(self.appearance, (*shown, help_), self._heading, self._go),
            SettingProvider(self.appearance),
            GlossaryProvider(self.appearance, self._go),
            OwnFilesProvider(self.appearance, self._go, self.read_again),
        ]
        for place in shown:
            providers += place.providers(context) if place.providers else ()
        for provider in providers:
            self.window.add_provider(provider)

    def begin(self, files: Sequence[str] = ()) -> None:
        """Read the catalog beside the window; then show the place of last time, and open the files."""
        self._waiting += files
        self.window.status_bar.show_catalog(msg("ui.status.catalog.reading"))
        self.jobs.run(self._read_catalog, self._catalog_read, urgent=True)

    def open_files(self, files: Sequence[str]) -> None:
        """Open files now, or as soon as there is a catalog to read them with."""
        if not self._begun:
            self._waiting += files
        elif files:
            self.window.open_files(list(files))

    def raise_window(self, files: Sequence[str]) -> None:
        """A second start asks for the window, and perhaps brings files."""
        self.window.setWindowState(self.window.windowState() & ~Qt.WindowState.WindowMinimized)
        self.window.raise_()
        self.window.activateWindow()
        self.open_files(files)

    def close(self) -> None:
        """Stop what runs."""
        self.jobs.close()
        self.collector.close()

    def _read_catalog(self, _cancel: Cancel) -> Any:
        return self._workspace.catalog

    def read_again(self) -> None:
        """Read the catalog and the person's own files anew; every page then shows what is in them now."""
        self.jobs.run(self._read_anew, self._was_read_again, title=msg("ui.own.reading"), may_cancel=False)

    def _read_anew(self, _cancel: Cancel) -> Any:
        self._workspace.catalog_changed()
        return self._workspace.catalog

    def _was_read_again(self, catalog: Any) -> None:
        self._say_catalog(catalog)
        self.window.renew_pages()
        own = sum(e.user for table in (catalog.gpus, catalog.instances, catalog.models) for e in table.values())
        self.notices.say(msg("ui.own.read", entries=f"{own:,}"), Verdict.PASS)

    def _catalog_read(self, catalog: Any) -> None:
        self._say_catalog(catalog)
        self._begun = True
        self.window.start(FIRST_PLACE)
        self.collector.settle()
        waiting, self._waiting = self._waiting, []
        self.open_files(waiting)
        self.jobs.run(self._read_own, self._say_left_out)

    def _read_own(self, _cancel: Cancel) -> tuple[Message, ...]:
        return tuple(self._workspace.read_own_measurements())

    def _say_left_out(self, problems: tuple[Message, ...]) -> None:
        """Once: what of the person's measurements no estimate counts with."""
        for problem in problems:
            self.notices.say(problem, Verdict.WARN)

    def _say_catalog(self, catalog: Any) -> None:
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
            self.notices.say(problem.message, Verdict.WARN, quiet=True)

    def _dress(self) -> None:
        self.dresser.dress(self.appearance.tokens)

    def _go(self, location: Location) -> None:
        self.window.go(location)

    def _reset_layout(self) -> None:
        self.window.reset_layout()

    def _heading(self) -> Heading:
        page = self.window.current_page()
        return page.heading() if page else Heading()


def main(argv: Sequence[str]) -> int:
    """Open the window with the plans named in `argv`, or hand them to a window that is already open.

    Returns the exit code.
    """
    from gpuplanner.workspace import Workspace, home_folder, system_language

    if not _has_display(os.environ):
        # Qt would abort, with a text that helps nobody.
        sys.stderr.write(Translator(system_language()).text(msg("ui.no_display")) + "\n")
        return 2
    files = [str(Path(file).resolve()) for file in argv]
    lighten_strokes(os.environ)
    application = QApplication([sys.argv[0]])
    application.setApplicationName("gpuplanner")
    application.setDesktopFileName("gpuplanner")
    application.setWindowIcon(application_icon())
    home = home_folder()
    name = server_name(home)
    if hand_over(name, files):
        return 0
    workspace = Workspace(home)
    notices = Notices()
    settings = _settings(workspace, notices)
    dresser = Dresser(application, native=not composited(application))
    session = Session(dresser, workspace, settings, places(), notices)
    catch_crashes(session.appearance, lambda: session.window)
    first = SingleInstance(name)
    first.handed.connect(session.raise_window)
    session.window.kept_geometry.restore()
    session.window.show()
    session.begin(files)
    code = application.exec()
    first.close()
    session.close()
    return code


def _has_display(environment: Mapping[str, str]) -> bool:
    """Whether there is a screen to open a window on. Only Linux can be without one."""
    wanted = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return not sys.platform.startswith("linux") or any(environment.get(name) for name in wanted)


def _settings(workspace: Any, notices: Notices) -> Settings:
    """The settings of the store; where it cannot be opened, settings that hold as long as the window."""

    def say(message: Message) -> None:
        notices.say(message, Verdict.WARN, sticky=True)

    try:
        kept = workspace.settings
        notes = workspace.store.notes
    except InputError as fault:
        say(fault.message)
        return MemorySettings()
    for note in notes:
        say(note)
    watch_store(workspace.store, notices)
    return ForgivingSettings(kept, say)
