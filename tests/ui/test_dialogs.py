"""The window asks nothing that it can do and undo: one dialog in all, for what nobody foresaw, and where files go."""

import ast
from pathlib import Path

import pytest

from gpuplanner import ui

SOURCES = sorted(Path(ui.__file__).parent.rglob("*.py"))
BLOCKING = {"QMessageBox", "QInputDialog", "QErrorMessage", "QWizard", "QProgressDialog"}
"""What stops a person in the middle of something else."""


def names_in(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def dialogs_in(tree):
    """Classes that are dialogs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and {base.id for base in node.bases if isinstance(base, ast.Name)} & {
            "QDialog"
        }:
            yield node.name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_nothing_asks_or_tells_in_a_box_of_its_own(path):
    assert set(names_in(ast.parse(path.read_text("utf-8")))) & BLOCKING == set()


def test_there_is_one_dialog_for_what_nobody_foresaw():
    found = [name for path in SOURCES for name in dialogs_in(ast.parse(path.read_text("utf-8")))]
    assert found == ["CrashDialog"]
