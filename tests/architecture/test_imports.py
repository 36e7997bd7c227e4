"""The design's rules about who imports whom and what, held by reading and by running."""

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path

import pytest
from importlinter.api import read_configuration

POSIX_ONLY = {
    "crypt", "curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty",
}  # fmt: skip
WITHOUT_A_CLOCK = ("engine", "figures.py", "facts.py", "units.py", "workload")
CLOCKS = {"now", "utcnow", "today"}
QT = ("PySide6", "shiboken6", "pyqtgraph")


def modules_under(*paths: Path) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def imported_at_module_level(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The modules that importing this one imports: functions are left out, and what a platform check guards."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0], node.lineno
        elif isinstance(node, ast.If) and ast.unparse(node.test).startswith(("sys.platform", "os.name")):
            continue
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """The contracts of pyproject.toml, checked over the package in `folder`."""
    check = "import sys; from importlinter.api import use_cases; sys.exit(not use_cases.lint_imports(cache_dir=None))"
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, '.'); {check}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def package_copy(project_root: Path, tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to break."""
    shutil.copytree(project_root / "gpuplanner", tmp_path / "gpuplanner", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(project_root / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_of_the_design_hold(project_root):
    assert {c["id"] for c in read_configuration(str(project_root / "pyproject.toml"))["contracts_options"]} == {
        "layers",
        "qt",
        "pure",
        "parsers",
    }
    checked = lint_imports(project_root)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("figures.py", "import gpuplanner.catalog", "Imports point down only"),
        ("probe/merging.py", "import gpuplanner.engine", "Imports point down only"),
        ("probe/parsers/lscpu.py", "import subprocess", "Parsers get text, checks get values, and both give values"),
        ("acceptance/check.py", "import os", "Parsers get text, checks get values, and both give values"),
        ("cli/__init__.py", "import gpuplanner.ui", "Imports point down only"),
        ("ui/__init__.py", "import gpuplanner.cli", "Imports point down only"),
        ("store/__init__.py", "from PySide6 import QtCore", "Only the window imports Qt"),
        ("cli/__init__.py", "import pyqtgraph", "Only the window imports Qt"),
        ("engine/formulas/__init__.py", "import subprocess", "What computes does no input or output"),
        ("units.py", "import time", "What computes does no input or output"),
    ],
)
def test_an_import_against_the_design_is_found(package_copy, module, line, broken):
    source = package_copy / "gpuplanner" / module
    source.write_text(f"{source.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    checked = lint_imports(package_copy)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert f"{broken} BROKEN" in checked.stdout


def test_a_module_in_no_layer_is_found(package_copy):
    (package_copy / "gpuplanner" / "helpers.py").write_text("", encoding="utf-8")
    checked = lint_imports(package_copy)
    assert checked.returncode == 1
    assert "helpers" in checked.stdout


@pytest.mark.parametrize("module", ["gpuplanner.cli.main", "gpuplanner.workspace"])
def test_the_command_line_works_without_qt(module):
    script = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert [name for name in json.loads(run.stdout) if name.startswith(QT)] == []


def test_the_workspace_imports_no_engine_before_it_is_asked():
    """A window is there, and a name is resolved, without what works plans out, which is slow to import."""
    script = "import json, sys, gpuplanner.workspace; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    late = ("gpuplanner.engine", "gpuplanner.catalog.search", "gpuplanner.cli", "gpuplanner.ui")
    assert [name for name in json.loads(run.stdout) if name.startswith(late)] == []


def test_every_module_imports_where_posix_is_not(project_root):
    """As on Windows: each module is imported with the modules blocked that only POSIX has."""
    script = f"""
import importlib, pkgutil, sys
for name in {sorted(POSIX_ONLY - {"posix"})!r}:
    sys.modules[name] = None
import gpuplanner
names = [m.name for m in pkgutil.walk_packages(gpuplanner.__path__, "gpuplanner.") if not m.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=project_root)
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > 150


def test_nothing_is_imported_that_only_posix_has(project_root):
    found = [
        f"{path.relative_to(project_root)}:{line} imports {name}"
        for path in modules_under(project_root / "gpuplanner")
        for name, line in imported_at_module_level(ast.parse(path.read_text(encoding="utf-8")))
        if name in POSIX_ONLY
    ]
    assert not found, "\n".join(found)


def test_what_computes_reads_no_clock_and_opens_no_file(project_root):
    found = []
    for path in modules_under(*(project_root / "gpuplanner" / part for part in WITHOUT_A_CLOCK)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            reads_files = called == "open" and "workload" not in path.relative_to(project_root).parts
            if reads_files or (isinstance(node.func, ast.Attribute) and called in CLOCKS):
                found.append(f"{path.relative_to(project_root)}:{node.lineno} calls {called}")
    assert not found, "\n".join(found)


def qt_modules(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((a.name.split(".")[1], node.lineno) for a in node.names if a.name.startswith("PySide6."))
        elif isinstance(node, ast.ImportFrom) and node.module == "PySide6":
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("PySide6."):
            yield (node.module or "").split(".")[1], node.lineno


def test_the_window_needs_only_the_essentials_of_qt(project_root):
    """Where there is no wheel of Qlementine the rest of Qt is not installed."""
    essentials = {file.name.removesuffix(".pyi") for file in files("PySide6_Essentials") or () if file.suffix == ".pyi"}
    assert "QtWidgets" in essentials
    found = [
        f"{path.relative_to(project_root)}:{line} imports {name}"
        for path in modules_under(project_root / "gpuplanner" / "ui")
        for name, line in qt_modules(ast.parse(path.read_text(encoding="utf-8")))
        if name not in essentials
    ]
    assert not found, "\n".join(found)
