"""What `make test` checks and what it makes a failure of, told from the outside with stand-ins for the programs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

POSIX = pytest.mark.skipif(os.name != "posix", reason="runs the scripts of a POSIX shell")
LOGS = '#!/bin/sh\necho "${0##*/} $*" >>"$CALLS"\ncase "$FAILING" in "${0##*/}") exit 1 ;; esac\n'
BEFORE_TESTS = ["ruff", "ruff", "mypy", "lint-imports"]
BAD = """
import warnings
from PySide6.QtCore import qWarning

def test_python_warns():
    warnings.warn("of something", stacklevel=1)

def test_qt_warns(qtbot):
    qWarning("of something")

def test_nothing_is_wrong():
    pass
"""


def program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(LOGS, encoding="utf-8")
    path.chmod(0o755)


def run(command: list[str], calls: Path, **environment: str) -> tuple[int, list[str], str]:
    """The exit code, the programs that were called, and what was said on stderr."""
    settings = {"PATH": os.environ["PATH"], "CALLS": str(calls), "FAILING": "", **environment}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, calls.read_text(encoding="utf-8").splitlines() if calls.exists() else [], done.stderr


@pytest.fixture
def checkout(project_root: Path, tmp_path: Path) -> Path:
    """The script that checks, beside programs that do nothing but say that they were called."""
    (tmp_path / "packaging").mkdir()
    shutil.copy(project_root / "packaging" / "check.sh", tmp_path / "packaging")
    for name in {*BEFORE_TESTS, "pytest"}:
        program(tmp_path / ".venv" / "bin" / name)
    return tmp_path


@POSIX
def test_continuous_integration_runs_make_test(project_root: Path, tmp_path: Path) -> None:
    program(tmp_path / "make")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    code, called, _ = run([str(project_root / ".ci" / "run")], tmp_path / "calls", PATH=path)
    assert (code, called) == (0, ["make test"])


@POSIX
def test_every_check_comes_before_the_tests(checkout: Path) -> None:
    code, called, _ = run(["sh", str(checkout / "packaging" / "check.sh"), "test"], checkout / "calls")
    assert code == 0
    assert [line.split()[0] for line in called] == [*BEFORE_TESTS, "pytest", "pytest", "pytest"]


@POSIX
@pytest.mark.parametrize(("name", "says"), [("mypy", "types"), ("lint-imports", "imports"), ("pytest", "tests")])
def test_the_first_check_that_fails_ends_it_by_its_name(checkout: Path, name: str, says: str) -> None:
    code, called, said = run(["sh", str(checkout / "packaging" / "check.sh"), "test"], checkout / "calls", FAILING=name)
    assert code == 1
    assert called[-1].split()[0] == name
    assert f"stopped at: {says}" in said


def test_warnings_of_python_and_of_qt_fail_and_the_order_is_random(project_root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_bad.py").write_text(BAD, encoding="utf-8")
    settings = ["-c", str(project_root / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *settings, str(tmp_path / "test_bad.py")],
        cwd=tmp_path, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert sorted(re.findall(r"^FAILED .*::(\w+)", done.stdout, re.MULTILINE)) == ["test_python_warns", "test_qt_warns"]
    assert "1 passed" in done.stdout
    assert "random seed" in done.stdout.lower() or "randomly-seed" in done.stdout


def test_the_licence_is_apache_2_0(project_root: Path) -> None:
    text = (project_root / "LICENSE").read_text(encoding="utf-8")
    assert re.search(r"Apache License\s+Version 2\.0, January 2004", text)
    assert 'license = "Apache-2.0' in (project_root / "pyproject.toml").read_text(encoding="utf-8")
