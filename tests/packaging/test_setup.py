"""Setting up a checkout, told from the outside: the real script with stand-ins for the programs that it calls."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the set-up script is for Linux and macOS shells")

SHELL = shutil.which("sh") or "sh"
REAL_PROGRAMS = ("cat", "cksum", "cp", "dirname", "head", "mkdir", "uname")

PYTHON = """
case "$*" in
    *version_info*"<="*) exit "${TOO_OLD:-0}" ;;
    *ensurepip*) exit "${NO_VENV:-0}" ;;
    *"%d.%d-venv"*) echo python3.11-venv ;;
    --version) echo "Python 3.9.2" ;;
    "-m venv "*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    "-m pip "*) echo "pip $*" >>"$CALLS"; exit "${PIP_FAILS:-0}" ;;
esac
"""
# Answers as dpkg-query does: the names in $INSTALLED are, venv is known to it but not installed, others are unknown.
DPKG_QUERY = """
case " $INSTALLED " in
    *" $4 "*) echo "installed " ;;
    *) case $4 in *venv) echo "not-installed " ;; *) exit 1 ;; esac ;;
esac
"""
QT = (
    "libglib2.0-0 libgl1 libegl1 libopengl0 libxkbcommon0 libfreetype6 libfontconfig1 libdbus-1-3 libxkbcommon-x11-0 "
    "libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0"
)
TESTS = "xvfb xauth openssh-server"


@dataclass
class Machine:
    """A made-up machine: a checkout and the programs on its PATH."""

    folder: Path
    calls: Path

    def set_up(self, purpose: str, **environment: str) -> subprocess.CompletedProcess[str]:
        settings = {"INSTALLED": f"{QT} {TESTS}", "USER_ID": "1000", "DISPLAY": ":0", "FONT": "Noto Sans CJK"}
        settings["RUNNING_SYSTEM"] = "/no/such/folder"
        return subprocess.run(
            [SHELL, str(self.folder / "packaging" / "setup.sh"), purpose],
            env={"PATH": str(self.folder / "bin"), "CALLS": str(self.calls), **settings, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def called(self) -> list[str]:
        return self.calls.read_text(encoding="utf-8").splitlines() if self.calls.exists() else []


@pytest.fixture
def machine(project_root: Path, tmp_path: Path) -> Machine:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in REAL_PROGRAMS:
        (programs / name).symlink_to(shutil.which(name) or name)
    for name, script in {
        "python3": PYTHON,
        "dpkg-query": DPKG_QUERY,
        "apt-get": 'echo "apt-get $*" >>"$CALLS"; exit "${APT_FAILS:-0}"',
        "fc-list": 'echo "$FONT"',
        "id": 'echo "$USER_ID"',
    }.items():
        (programs / name).write_text(f"#!{SHELL}\n{script}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    for name in ("pyproject.toml", "requirements.lock", "requirements-dev.lock", "packaging/setup.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(project_root / name, tmp_path / name)
    return Machine(tmp_path, tmp_path / "calls")


def test_a_ready_machine_gets_the_locked_packages_and_the_checkout(machine):
    done = machine.set_up("run")
    assert done.returncode == 0, done.stderr
    locked, itself = machine.called()
    assert "--require-hashes -r requirements.lock" in locked
    assert "--no-index -e ." in itself


def test_the_tests_have_a_lock_of_their_own(machine):
    assert machine.set_up("test").returncode == 0
    assert "-r requirements-dev.lock" in machine.called()[0]


def test_a_running_system_gets_no_ssh_server(machine):
    lacking = machine.set_up("test", INSTALLED=QT, USER_ID="0", RUNNING_SYSTEM="/")
    assert lacking.returncode == 0
    installed = next(call for call in machine.called() if " install " in call)
    assert installed.endswith("xvfb xauth")


def test_nothing_is_installed_twice_until_the_lock_changes(machine):
    machine.set_up("run")
    first = machine.called()
    assert machine.set_up("run").stderr == ""
    assert machine.called() == first
    with (machine.folder / "requirements.lock").open("a", encoding="utf-8") as lock:
        lock.write("# newer\n")
    machine.set_up("run")
    assert machine.called() == first * 2


def test_a_failed_installation_is_tried_again(machine):
    failed = machine.set_up("run", PIP_FAILS="1")
    assert failed.returncode == 1
    assert "requirements.lock could not be installed" in failed.stderr
    assert machine.set_up("run").returncode == 0
    assert len(machine.called()) == 3


def test_a_user_is_told_the_exact_line_and_nothing_else_happens(machine):
    stopped = machine.set_up("run", INSTALLED=QT.replace("libegl1", "").replace("libxcb-cursor0", ""))
    assert stopped.returncode == 1
    assert (
        "\n  sudo apt-get update && sudo apt-get install --no-install-recommends libegl1 libxcb-cursor0\n"
        in stopped.stderr
    )
    assert machine.called() == []
    assert not (machine.folder / ".venv").exists()


def test_root_gets_the_system_packages(machine):
    done = machine.set_up("test", INSTALLED=QT, USER_ID="0", FONT="", NO_VENV="1")
    assert done.returncode == 0, done.stderr
    update, install, *_ = machine.called()
    assert update.endswith(" update")
    assert install.endswith(" install --no-install-recommends fonts-noto-cjk xvfb xauth openssh-server python3.11-venv")


def test_apt_failing_stops_there(machine):
    stopped = machine.set_up("run", INSTALLED="", USER_ID="0", APT_FAILS="100")
    assert stopped.returncode == 1
    assert "apt-get could not install libglib2.0-0 " in stopped.stderr


def test_libraries_under_their_newer_names_count(machine):
    assert machine.set_up("run", INSTALLED=QT.replace("libglib2.0-0", "libglib2.0-0t64")).returncode == 0


def test_another_linux_is_told_the_libraries_once_and_goes_on(machine):
    (machine.folder / "bin" / "apt-get").unlink()
    done = machine.set_up("run", INSTALLED="")
    assert done.returncode == 0
    assert "libxcb-cursor0" in done.stderr
    assert "libxcb-cursor0" not in machine.set_up("run", INSTALLED="").stderr


def test_an_old_python_is_named(machine):
    stopped = machine.set_up("run", TOO_OLD="1")
    assert stopped.returncode == 1
    assert stopped.stderr == (
        "gpuplanner: Python from 3.11 to 3.14 is needed, and there is Python 3.9.2 here. "
        "Install one, or name it: make run PYTHON=/path/to/python3.11\n"
    )


def test_a_named_python_that_does_not_suit_is_refused(machine):
    stopped = machine.set_up("run", PYTHON="python2")
    assert stopped.returncode == 1
    assert "PYTHON=python2 is not a Python from 3.11 to 3.14" in stopped.stderr


def test_without_a_display_the_command_line_is_offered(machine):
    """With a code of its own, which is no failure to `make run`."""
    stopped = machine.set_up("run", DISPLAY="", INSTALLED="")
    assert stopped.returncode == 3
    assert stopped.stderr.endswith(
        "there is no display here, so no window can open; the command line works: .venv/bin/gpuplanner --help\n"
    )
    assert "requirements.lock" in machine.called()[0]


@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="xvfb-run is not installed")
def test_the_system_libraries_are_enough_for_the_window_on_a_screen():
    script = """
from PySide6.QtWidgets import QApplication
application = QApplication([])
try:
    from PySide6Qlementine import QlementineStyle
except ModuleNotFoundError as absent:
    assert absent.name == "PySide6Qlementine", absent
else:
    application.setStyle(QlementineStyle())
print(application.platformName())
"""
    shown = subprocess.run(
        ["xvfb-run", "--auto-servernum", sys.executable, "-c", script],
        env={**os.environ, "QT_QPA_PLATFORM": "xcb"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.stdout == "xcb\n", shown.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(("code", "expected", "said"), [(0, 0, "opened"), (3, 0, ""), (1, 2, "")])
def test_make_run_without_a_display_is_no_error(tmp_path, code, expected, said):
    """What make says of a failure is for failures alone."""
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "setup.sh").write_text(f"exit {code}\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text("#!/bin/sh\necho opened\n")
    python.chmod(0o755)
    makefile = Path(__file__).parents[2] / "Makefile"
    # `make test` may have started this: what it hands down to makes below it is not of this one.
    own = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}
    ran = subprocess.run(
        ["make", "-f", str(makefile), "run"], cwd=tmp_path, env=own, capture_output=True, text=True, check=False
    )
    assert ran.returncode == expected
    assert ran.stdout.strip() == said
    assert ("Error" in ran.stderr) is (expected != 0)
