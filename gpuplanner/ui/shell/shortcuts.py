"""Every keyboard shortcut of the window: one list, which the window wires and the help page shows. No widget."""

from dataclasses import dataclass

from gpuplanner.messages import Message, msg


@dataclass(frozen=True, slots=True)
class Shortcut:
    """Keys as Qt writes them, and what they do."""

    id: str
    keys: str
    does: Message


SHORTCUTS = (
    Shortcut("palette", "Ctrl+K", msg("shortcuts.palette")),
    Shortcut("panes", "F6", msg("shortcuts.panes")),
    Shortcut("panes_back", "Shift+F6", msg("shortcuts.panes_back")),
    Shortcut("leave", "Esc", msg("shortcuts.leave")),
    Shortcut("back", "Alt+Left", msg("shortcuts.back")),
    Shortcut("forward", "Alt+Right", msg("shortcuts.forward")),
    Shortcut("settings", "Ctrl+,", msg("shortcuts.settings")),
    Shortcut("help", "F1", msg("shortcuts.help")),
    Shortcut("open", "Ctrl+O", msg("shortcuts.open")),
    Shortcut("paste", "Ctrl+V", msg("shortcuts.paste")),
    Shortcut("quit", "Ctrl+Q", msg("shortcuts.quit")),
)
PLACE_KEYS = "Ctrl+{number}"
"""The keys of the places, in the order of the rail."""
