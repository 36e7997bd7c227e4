"""What the window itself puts into the palette: places, the actions of the page in sight, settings, help."""

from collections.abc import Callable, Sequence
from functools import partial

from gpuplanner.messages import Message, msg
from gpuplanner.store.settings import CURRENCY, LANGUAGE, MEMORY, THEME
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.help_page.glossary import GLOSSARY
from gpuplanner.ui.palette.items import PaletteItem, match
from gpuplanner.ui.places import Heading, Location, Place
from gpuplanner.ui.shell.shortcuts import PLACE_KEYS

OWN_FILES = "own_files"
"""The path of the person's own files on the settings page."""


class ActionProvider:
    """The actions of the page in sight, and going to a place."""

    group = msg("ui.palette.actions")
    in_background = False

    def __init__(
        self,
        appearance: Appearance,
        places: Sequence[Place],
        heading: Callable[[], Heading],
        go: Callable[[Location], None],
    ) -> None:
        self._appearance = appearance
        self._places = places
        self._heading = heading
        self._go = go

    def find(self, query: str) -> Sequence[PaletteItem]:
        """Actions that can be done now."""
        items = [
            PaletteItem(
                f"action.{action.id}",
                self._appearance.text(action.label),
                action.run,
                icon=action.icon or "play",
                shortcut=action.shortcut,
                score=match(query, *self._appearance.texts(action.label)),
            )
            for action in self._heading().actions
            if action.enabled
        ]
        for number, place in enumerate(self._places, 1):
            says = msg("ui.palette.go", place=place.title)
            items.append(
                PaletteItem(
                    f"place.{place.id}",
                    self._appearance.text(says),
                    partial(self._go, Location(place.id)),
                    icon=place.icon,
                    shortcut=place.shortcut or PLACE_KEYS.format(number=number),
                    score=match(query, *self._appearance.texts(says), *self._appearance.texts(place.title)),
                )
            )
        return items


class SettingProvider:
    """Each choice of each setting ("Theme: dark"), chosen at once."""

    group = msg("ui.palette.settings")
    in_background = False

    def __init__(self, appearance: Appearance) -> None:
        self._appearance = appearance

    def find(self, query: str) -> Sequence[PaletteItem]:
        """Choices that differ from what is chosen. Nothing for an empty query: there are many."""
        if not query.strip():
            return ()
        items = []
        for setting in (LANGUAGE, THEME, MEMORY, CURRENCY):
            chosen = self._appearance.chosen(setting)
            for choice in setting.choices:
                if choice == chosen or (setting is CURRENCY and choice not in {"USD", *self._appearance.rates()}):
                    continue
                name = Message(f"settings.{setting.key}")
                value = Message(f"settings.{setting.key}.{choice}")
                says = msg("settings.choice", name=name, value=value)
                items.append(
                    PaletteItem(
                        f"setting.{setting.key}.{choice}",
                        self._appearance.text(says),
                        partial(self._appearance.choose, setting, choice),
                        icon="settings",
                        score=match(query, *self._appearance.texts(says)),
                    )
                )
        return items


class GlossaryProvider:
    """The words of the glossary."""

    group = msg("ui.palette.glossary")
    in_background = False

    def __init__(self, appearance: Appearance, go: Callable[[Location], None]) -> None:
        self._appearance = appearance
        self._go = go

    def find(self, query: str) -> Sequence[PaletteItem]:
        """Words whose name matches in either language. Nothing for an empty query."""
        if not query.strip():
            return ()
        return [
            PaletteItem(
                f"term.{term.id}",
                self._appearance.text(term.name),
                partial(self._go, Location("help", term.path)),
                note=self._appearance.text(term.meaning),
                icon="circle-help",
                score=match(query, *self._appearance.texts(term.name)) * 0.9,
            )
            for term in GLOSSARY
        ]


class OwnFilesProvider:
    """A person's own files over the catalog: where they are, and reading them again."""

    group = msg("ui.palette.own")
    in_background = False

    def __init__(
        self, appearance: Appearance, go: Callable[[Location], None], read_again: Callable[[], object]
    ) -> None:
        self._appearance = appearance
        self._actions = (
            ("where", "folder-open", lambda: go(Location("settings", OWN_FILES))),
            ("again", "rotate-ccw", read_again),
        )

    def find(self, query: str) -> Sequence[PaletteItem]:
        """Found by their names and by what else such files are called. Nothing for an empty query."""
        if not query.strip():
            return ()
        texts = self._appearance.texts
        return [
            PaletteItem(
                f"own.{name}",
                self._appearance.text(f"ui.own.{name}"),
                run,
                icon=icon,
                score=match(query, *texts(msg(f"ui.own.{name}")), *texts(msg(f"ui.own.{name}.words"))),
            )
            for name, icon, run in self._actions
        ]
