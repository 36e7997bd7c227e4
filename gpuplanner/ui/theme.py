"""Dresses the application in a theme's tokens: palette, Qlementine's theme, and what Fusion needs to look right too.

Called once at the start and again whenever the theme changes. Our own widgets paint themselves with the tokens.
"""

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING

from PySide6.QtCore import QJsonDocument
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from gpuplanner.ui.fonts import TextRole, font, load_fonts
from gpuplanner.ui.tokens import RADIUS_FIELD, Tokens, Verdict

if TYPE_CHECKING:
    from PySide6Qlementine import QlementineStyle, Theme

Group = QPalette.ColorGroup
Role = QPalette.ColorRole


class Dresser:
    """Keeps the style object of the application and gives it the tokens of a theme."""

    def __init__(self, application: QApplication, *, native: bool = False) -> None:
        """With `native` Fusion is used: where Qlementine has no wheel, and where windows cannot be translucent."""
        self._application = application
        self._qlementine = None if native else _qlementine_style()
        if self._qlementine is not None:
            application.setStyleSheet("")
            application.setStyle(self._qlementine)
        else:
            application.setStyle("Fusion")
        load_fonts()
        application.setFont(font())

    @property
    def fallback(self) -> bool:
        """Whether Fusion stands in for Qlementine."""
        return self._qlementine is None

    def dress(self, tokens: Tokens) -> None:
        """Give the whole application the colours of `tokens`."""
        if self._qlementine is not None:
            self._qlementine.setTheme(_qlementine_theme(tokens))
        self._application.setPalette(palette(tokens))
        if self._qlementine is None:
            # After the palette: a style sheet keeps the palettes of widgets as they are when it is set.
            self._application.setStyleSheet(_fusion_sheet(tokens))


def palette(tokens: Tokens) -> QPalette:
    """The Qt palette of a theme. Muted text is `PlaceholderText`, text in the primary colour is `Link`."""
    colours = {
        Role.Window: tokens.workspace,
        Role.WindowText: tokens.text,
        Role.Base: tokens.field,
        Role.AlternateBase: tokens.hover,
        Role.Text: tokens.text,
        Role.Button: tokens.card,
        Role.ButtonText: tokens.text,
        Role.BrightText: tokens.tone(Verdict.FAIL).ink,
        Role.ToolTipBase: tokens.card,
        Role.ToolTipText: tokens.text,
        Role.PlaceholderText: tokens.muted,
        Role.Highlight: tokens.primary,
        Role.HighlightedText: tokens.on_primary,
        Role.Link: tokens.primary_ink,
        Role.LinkVisited: tokens.primary_ink,
        Role.Accent: tokens.primary,
        Role.Light: tokens.card,
        Role.Midlight: tokens.line,
        Role.Mid: tokens.line_strong,
        Role.Dark: tokens.line_strong,
        Role.Shadow: tokens.line,
    }
    result = QPalette()
    for role, colour in colours.items():
        result.setColor(role, QColor(colour))
    for role in (Role.WindowText, Role.Text, Role.ButtonText):
        result.setColor(Group.Disabled, role, QColor(tokens.muted))
    return result


def _qlementine_style() -> "QlementineStyle | None":
    if find_spec("PySide6Qlementine") is None:
        return None
    try:
        from PySide6Qlementine import QlementineStyle
    except ImportError:
        # Its wheel is built against one exact Qt; another one cannot load it.
        return None
    style = QlementineStyle()
    style.setAnimationsEnabled(True)
    return style


def _qlementine_theme(tokens: Tokens) -> "Theme":
    from PySide6Qlementine import Theme

    theme = Theme.fromJsonDoc(QJsonDocument.fromJson(json.dumps(_qlementine_values(tokens)).encode()))
    theme.fontRegular = font(TextRole.BODY)
    theme.fontBold = font(TextRole.STRONG)
    theme.fontCaption = font(TextRole.LABEL)
    theme.fontMonospace = font(TextRole.CODE)
    # The style gives its own palette to whatever it polishes.
    theme.palette = palette(tokens)
    return theme


def _qlementine_values(tokens: Tokens) -> dict[str, object]:
    foreground, muted = tokens.text, tokens.muted
    values: dict[str, object] = {
        "meta": {"name": "dark" if tokens.dark else "light", "author": "gpuplanner", "version": "1"},
        "backgroundColorMain1": tokens.field,
        "backgroundColorMain2": tokens.workspace,
        "backgroundColorMain3": tokens.line,
        "backgroundColorMain4": tokens.line_strong,
        "backgroundColorWorkspace": tokens.workspace,
        "backgroundColorTabBar": tokens.line,
        "neutralColor": tokens.track,
        "neutralColorHovered": tokens.line,
        "neutralColorPressed": tokens.line_strong,
        "neutralColorDisabled": tokens.track,
        # Our own controls draw their ring themselves.
        "focusColor": tokens.primary + "00",
        "secondaryColor": foreground,
        "secondaryColorHovered": foreground,
        "secondaryColorPressed": foreground,
        "secondaryColorDisabled": muted,
        "secondaryAlternativeColor": muted,
        "secondaryAlternativeColorHovered": foreground,
        "secondaryAlternativeColorPressed": foreground,
        "secondaryAlternativeColorDisabled": muted,
        "borderColor": tokens.line_strong,
        "borderColorHovered": tokens.muted,
        "borderColorPressed": tokens.muted,
        "borderColorDisabled": tokens.line,
        "primaryColorDisabled": tokens.primary_wash,
        "primaryColorForegroundDisabled": muted,
        "borderRadius": RADIUS_FIELD,
        "checkBoxBorderRadius": 4,
        "menuItemBorderRadius": 5,
        "animationDuration": 120,
        "focusAnimationDuration": 120,
        "sliderAnimationDuration": 90,
        "controlHeightLarge": 32,
        "controlHeightMedium": 28,
        "fontSize": 13,
        "fontSizeS1": 12,
        "scrollBarThicknessFull": 10,
        "scrollBarThicknessSmall": 6,
        "useSystemFonts": False,
    }
    for state in ("", "Hovered", "Pressed"):
        values[f"primaryColor{state}"] = tokens.primary_hover if state else tokens.primary
        values[f"primaryAlternativeColor{state}"] = tokens.primary_hover
        values[f"primaryColorForeground{state}"] = tokens.on_primary
        values[f"secondaryColorForeground{state}"] = tokens.card
        for name, verdict in (
            ("Error", Verdict.FAIL),
            ("Warning", Verdict.WARN),
            ("Success", Verdict.PASS),
            ("Info", Verdict.INFO),
        ):
            values[f"statusColor{name}{state}"] = tokens.tone(verdict).ink
    for alpha, name in ((0x0A, "1"), (0x19, "2"), (0x21, "3"), (0x28, "4")):
        values[f"semiTransparentColor{name}"] = ("#ffffff" if tokens.dark else "#000000") + f"{alpha:02x}"
    for alpha, name in ((0x20, "1"), (0x40, "2"), (0x60, "3")):
        values[f"shadowColor{name}"] = f"#000000{alpha:02x}"
    return values


def _fusion_sheet(tokens: Tokens) -> str:
    """Scroll bars, menus and tooltips for Fusion, whose own are of another time."""
    return f"""
    QScrollBar {{ background: transparent; border: none; margin: 0; }}
    QScrollBar:vertical {{ width: 10px; }} QScrollBar:horizontal {{ height: 10px; }}
    QScrollBar::handle {{ background: {tokens.line_strong}; border-radius: 3px; margin: 2px; min-height: 28px;
        min-width: 28px; }}
    QScrollBar::handle:hover {{ background: {tokens.muted}; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: none; }}
    QAbstractScrollArea::corner {{ background: transparent; border: none; }}
    QMenu {{ background: {tokens.card}; color: {tokens.text}; border: 1px solid {tokens.line_strong}; padding: 4px; }}
    QMenu::item {{ padding: 6px 24px 6px 12px; border-radius: 5px; }}
    QMenu::item:selected {{ background: {tokens.primary_wash}; color: {tokens.text}; }}
    QMenu::item:disabled {{ color: {tokens.muted}; }}
    QMenu::separator {{ height: 1px; background: {tokens.line}; margin: 4px 8px; }}
    QComboBox QAbstractItemView {{ background: {tokens.card}; color: {tokens.text}; outline: none; padding: 3px;
        border: 1px solid {tokens.line_strong}; selection-background-color: {tokens.primary_wash};
        selection-color: {tokens.text}; }}
    QComboBox QAbstractItemView::item {{ min-height: 28px; padding: 0 8px; border-radius: 5px; }}
    QComboBox QAbstractItemView::item:selected {{ background: {tokens.primary_wash}; color: {tokens.text}; }}
    QToolTip {{ background: {tokens.card}; color: {tokens.text}; border: 1px solid {tokens.line_strong};
        padding: 5px 7px; }}
    """
