"""What somebody who helps needs to know about this copy and this machine. Names no person and no host."""

import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from PySide6.QtCore import qVersion
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QApplication

from gpuplanner import __version__
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import FAMILIES
from gpuplanner.ui.own_folder import OVERLAYS
from gpuplanner.ui.widgets.key_value import Row


def diagnostics(appearance: Appearance, workspace: Any) -> tuple[Row, ...]:
    """The facts as rows."""
    catalog = workspace.catalog
    screens = (
        f"{s.size().width()} × {s.size().height()} · {s.devicePixelRatio():g}×" for s in QGuiApplication.screens()
    )
    faces = [family for family in FAMILIES if family in QFontDatabase.families()]
    held = {"gpus": len(catalog.gpus), "instances": len(catalog.instances), "models": len(catalog.models)}
    display = appearance.display
    rate = f" · {display.per_usd:g} · {display.rate_date}" if display.rate_date else ""
    facts: tuple[tuple[Message, MessageValue], ...] = (
        (msg("ui.diagnostics.version"), __version__),
        (msg("ui.diagnostics.python"), f"{platform.python_implementation()} {platform.python_version()}"),
        (msg("ui.diagnostics.qt"), f"{qVersion()} · PySide6 {_version('PySide6-Essentials')}"),
        (msg("ui.diagnostics.system"), f"{platform.system()} {platform.release()} · {platform.machine()}"),
        (msg("ui.diagnostics.platform"), QGuiApplication.platformName()),
        (msg("ui.diagnostics.style"), f"{_style()} · {'dark' if appearance.tokens.dark else 'light'}"),
        (msg("ui.diagnostics.screens"), ", ".join(screens)),
        (msg("ui.diagnostics.fonts"), ", ".join(faces)),
        (msg("ui.diagnostics.language"), appearance.language.value),
        (msg("ui.diagnostics.units"), f"{display.memory.value} · {display.currency}{rate}"),
        (msg("ui.diagnostics.catalog"), f"{catalog.date} · {catalog.hash[:12]}"),
        (msg("ui.diagnostics.entries"), msg("ui.diagnostics.counts", **held)),
        (msg("ui.diagnostics.problems"), str(len(catalog.problems))),
        (msg("ui.diagnostics.own"), _without_name(Path(workspace.home) / OVERLAYS)),
    )
    return tuple(Row(name, value) for name, value in facts)


def as_markdown(appearance: Appearance, rows: Sequence[Row]) -> str:
    """The rows to be pasted into a report."""
    lines = [f"| {appearance.said(row.name)} | {appearance.said(row.value)} |" for row in rows]
    return "\n".join(["| gpuplanner | |", "| --- | --- |", *lines]) + "\n"


def _without_name(folder: Path) -> str:
    """A folder as a person finds it, without their name in it."""
    home = Path.home()
    return f"~/{folder.relative_to(home).as_posix()}" if folder.is_relative_to(home) else str(folder)


def _style() -> str:
    style = QApplication.style().metaObject().className()
    return f"{style} {_version('PySide6-Qlementine')}" if "Qlementine" in style else "Fusion"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"
