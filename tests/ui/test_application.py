import os
import shutil
import subprocess
import sys

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QPushButton

from gpuplanner.messages import InputError, msg
from gpuplanner.store.settings import THEME
from gpuplanner.ui.compositing import composited
from gpuplanner.ui.crash import CrashDialog, catch_crashes, details
from gpuplanner.ui.settings import ForgivingSettings, MemorySettings
from gpuplanner.ui.single_instance import SingleInstance, hand_over, server_name
from tests.benchmarks.measuring import REFERENCE_PER_S, reference_per_s

# Measured in a process of its own, from its first instruction to a painted window, in time of the processor: that is
# what a person waits on a machine that has nothing else to do.
COLD = """
import sys, time
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication
from gpuplanner.ui.application import Session
from gpuplanner.ui.settings import MemorySettings
from gpuplanner.ui.theme import Dresser
from gpuplanner.ui.places import Page, Place
from gpuplanner.messages import msg
application = QApplication(sys.argv[:1])
place = Place("one", "database", msg("ui.help.title"), lambda context: Page())
session = Session(Dresser(application), None, MemorySettings({"language": "zh_CN"}), (place,))
window = session.window
window.kept_geometry.restore()
window.start()
window.show()
application.processEvents()
window.grab()
print(time.process_time())
print(" ".join(sorted(name for name in sys.modules if name in {"pyqtgraph", "numpy", "yaml", "sqlite_utils"})))
session.close()
"""


def test_a_window_is_there_soon():
    best, loaded = 99.0, ""
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True, timeout=60)
        seconds, loaded = run.stdout.split("\n")[:2]
        best = min(best, float(seconds))
        if best < 1.0:
            break
    assert best < 1.5
    # What only charts need is read when there is a chart.
    assert "pyqtgraph" not in loaded


USABLE = """
import sys, time
from pathlib import Path
from PySide6.QtWidgets import QApplication
from gpuplanner.ui.application import Session, places
from gpuplanner.ui.settings import WINDOW
from gpuplanner.ui.theme import Dresser
from gpuplanner.workspace import Workspace
application = QApplication(sys.argv[:1])
workspace = Workspace(Path(sys.argv[1]))
workspace.settings.keep(WINDOW + "place", sys.argv[2])
session = Session(Dresser(application), workspace, workspace.settings, places())
window = session.window
window.kept_geometry.restore()
window.show()
application.processEvents()
print(time.process_time())
session.begin()
while window.current_page() is None or session.jobs.busy:
    application.processEvents()
    time.sleep(0.002)
application.processEvents()
assert window.page(sys.argv[2]) is window.current_page()
print(time.process_time())
session.close()
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """An environment in which Python keeps what it compiled, as for a person: only the first start compiles."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("compiled"))}


@pytest.mark.alone
@pytest.mark.parametrize("place", ["catalog", "plan", "compare"])
def test_a_cold_start_over_the_real_catalog_is_usable_soon(tmp_path, place, compiled):
    shown = usable = 99.0
    for _ in range(6):
        given = [sys.executable, "-c", USABLE, str(tmp_path), place]
        run = subprocess.run(given, capture_output=True, text=True, check=True, timeout=60, env=compiled)
        first, last = map(float, run.stdout.split())
        shown, usable = min(shown, first), min(usable, last)
        if usable < 1.3:
            break
    # Of processor time, on a core that runs the reference loop as fast as the one that the limits are for.
    slowness = max(1.0, REFERENCE_PER_S / reference_per_s())
    assert shown < 1.2 * slowness
    assert usable < 1.5 * slowness


# --- One window -----------------------------------------------------------------------------------------------------


@pytest.fixture
def name(tmp_path):
    return server_name(tmp_path)


def start_second(name, *files):
    """A second start in a process of its own: prints whether somebody took the files."""
    script = (
        "import sys; from PySide6.QtCore import QCoreApplication; QCoreApplication([]);"
        "from gpuplanner.ui.single_instance import hand_over; print(hand_over(sys.argv[1], sys.argv[2:]))"
    )
    return subprocess.Popen([sys.executable, "-c", script, name, *files], stdout=subprocess.PIPE, text=True)


def test_a_second_start_hands_its_files_to_the_first(qtbot, name, tmp_path):
    first = SingleInstance(name)
    plan = tmp_path / "my plan 方案.gpuplan"
    with qtbot.waitSignal(first.handed, timeout=10_000) as handed:
        second = start_second(name, str(plan))
    assert handed.args == [[str(plan)]]
    qtbot.waitUntil(lambda: second.poll() is not None, timeout=10_000)
    assert second.communicate()[0].strip() == "True"
    first.close()


def test_without_a_first_nobody_takes_them(qapp, name):
    assert not hand_over(name, ["a.gpuplan"])


def test_the_socket_of_a_killed_window_is_no_obstacle(qtbot, name):
    script = (
        "import sys, time; from PySide6.QtCore import QCoreApplication; app = QCoreApplication([]);"
        "from gpuplanner.ui.single_instance import SingleInstance; first = SingleInstance(sys.argv[1]);"
        "print('up', flush=True); app.exec()"
    )
    killed = subprocess.Popen([sys.executable, "-c", script, name], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    assert killed.stdout.readline().strip() == "up"
    killed.kill()
    killed.communicate()
    assert not hand_over(name, [])
    first = SingleInstance(name)
    with qtbot.waitSignal(first.handed, timeout=10_000):
        second = start_second(name)
    qtbot.waitUntil(lambda: second.poll() is not None, timeout=10_000)
    second.communicate()
    first.close()


def test_people_and_homes_have_windows_of_their_own(tmp_path):
    assert server_name(tmp_path) != server_name(tmp_path / "other")
    assert str(tmp_path) not in server_name(tmp_path)


@pytest.mark.parametrize("rubbish", [b"not json\n", b"\xff\xfe\n", b'{"a": 1}\n', b"x" * 2_000_000])
def test_rubbish_does_not_bring_the_first_down(qtbot, name, rubbish):
    first = SingleInstance(name)
    handed: list[object] = []
    first.handed.connect(handed.append)
    socket = QLocalSocket()
    socket.connectToServer(name)
    assert socket.waitForConnected(1000)
    socket.write(rubbish)
    socket.flush()
    qtbot.wait(60)
    assert handed == []
    socket.abort()
    with qtbot.waitSignal(first.handed, timeout=10_000):
        second = start_second(name)
    qtbot.waitUntil(lambda: second.poll() is not None, timeout=10_000)
    second.communicate()
    first.close()
    assert QLocalServer.removeServer(name)


# --- What was not foreseen ------------------------------------------------------------------------------------------


def fault():
    try:
        raise RuntimeError("the pipe broke")
    except RuntimeError as error:
        return error


def test_the_details_say_what_somebody_needs_to_mend_it():
    text = details(fault())
    assert "RuntimeError: the pipe broke" in text
    assert "Python 3." in text
    assert "Qt 6." in text
    assert text.count("```") == 2


def test_the_dialog_copies_and_sends_nothing(appearance, qtbot):
    dialog = CrashDialog(appearance, details(fault()))
    qtbot.addWidget(dialog)
    dialog.show()
    focused = dialog.focusWidget()
    assert isinstance(focused, QPushButton)
    assert focused.text() == "Go on", "Enter and Space close it"
    dialog.copy.click()
    assert "the pipe broke" in QGuiApplication.clipboard().text()


def test_an_uncaught_exception_shows_one_dialog(open_session, qtbot, monkeypatch, capsys):
    session = open_session()
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    catch_crashes(session.appearance, lambda: session.window)
    error = fault()
    for _ in range(3):
        sys.excepthook(type(error), error, error.__traceback__)
    dialogs = session.window.findChildren(CrashDialog)
    assert len(dialogs) == 1
    assert "the pipe broke" in capsys.readouterr().err
    dialogs[0].accept()
    sys.excepthook(type(error), error, error.__traceback__)
    open_dialogs = [d for d in session.window.findChildren(CrashDialog) if d.isVisible()]
    assert len(open_dialogs) == 1
    open_dialogs[0].accept()


# --- From start to end ----------------------------------------------------------------------------------------------


def test_the_window_opens_and_closes(tmp_path):
    """The real start, with the real workspace, closed from inside after its window is there."""
    script = (
        "import sys; from PySide6.QtCore import QTimer; from PySide6.QtWidgets import QApplication\n"
        "from gpuplanner.ui import application\n"
        "def look():\n"
        "    window = next(w for w in QApplication.topLevelWidgets() if w.isVisible())\n"
        "    print(type(window).__name__, window.width() >= 900, flush=True)\n"
        "    window.close()\n"
        "class Application(QApplication):\n"
        "    def exec(self):\n"
        "        QTimer.singleShot(300, look)\n"
        "        return super().exec()\n"
        "application.QApplication = Application\n"
        "sys.exit(application.main([]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "GPUPLANNER_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.stdout.strip() == "Window True", run.stderr
    assert run.returncode == 0
    assert "Traceback" not in run.stderr


@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="there is no X server here to try it on")
def test_a_screen_without_a_compositor_gets_plain_menus():
    script = (
        "from PySide6.QtWidgets import QApplication; from gpuplanner.ui.compositing import composited;"
        "application = QApplication([]); print(application.platformName(), composited(application))"
    )
    environment = {**os.environ, "QT_QPA_PLATFORM": "xcb"}
    run = subprocess.run(
        ["xvfb-run", "-a", sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.stdout.strip() == "xcb False", run.stderr


def test_any_other_screen_is_composited(qapp):
    assert composited(qapp)


# --- A store that fails ---------------------------------------------------------------------------------------------


class FullDisk(MemorySettings):
    """Settings of a store on a disk that is full now and then."""

    full = False

    def keep(self, key, value):
        if self.full:
            raise InputError(msg("ui.paste.unknown"))
        super().keep(key, value)

    def forget(self, prefix):
        if self.full:
            raise InputError(msg("ui.paste.unknown"))
        super().forget(prefix)


def test_a_setting_that_cannot_be_kept_holds_until_the_window_closes():
    disk = FullDisk({"theme": "light"})
    told: list[object] = []
    settings = ForgivingSettings(disk, told.append)
    disk.full = True
    settings.set(THEME, "dark")
    settings.keep("window.geometry", [1])
    settings.forget("window.")
    assert settings.get(THEME) == "dark"
    assert settings.kept("window.geometry") is None
    assert disk.values == {"theme": "light"}
    assert told == [msg("ui.paste.unknown")]
    disk.full = False
    settings.set(THEME, "system")
    assert disk.values["theme"] == "system"
    settings.reset(THEME)
    assert settings.get(THEME) == "system"
    with pytest.raises(ValueError, match="does not take"):
        settings.set(THEME, "purple")


def test_a_home_that_cannot_be_written_is_told_and_the_window_opens_all_the_same(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    script = (
        "import sys; from PySide6.QtCore import QTimer; from PySide6.QtWidgets import QApplication\n"
        "from gpuplanner.ui import application\n"
        "def look():\n"
        "    window = next(w for w in QApplication.topLevelWidgets() if w.isVisible())\n"
        "    print(len(window.context.notices.kept), window.toasts.count(), flush=True)\n"
        "    window.close()\n"
        "class Application(QApplication):\n"
        "    def exec(self):\n"
        "        QTimer.singleShot(300, look)\n"
        "        return super().exec()\n"
        "application.QApplication = Application\n"
        "sys.exit(application.main([]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "GPUPLANNER_HOME": str(tmp_path / "file" / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.stdout.strip() == "1 1", run.stderr
    assert run.returncode == 0


def test_files_wait_for_the_catalog(open_session, qtbot, settings):
    session = open_session()
    opened: list[object] = []
    session.window.open_files = opened.append
    session.raise_window(["a.gpuplan"])
    assert opened == []
    session.begin(["b.gpuplan"])
    qtbot.waitUntil(lambda: bool(opened))
    assert opened == [["a.gpuplan", "b.gpuplan"]]
    session.raise_window(["c.gpuplan"])
    session.raise_window([])
    assert opened[1:] == [["c.gpuplan"]]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can be without a display")
def test_without_a_display_one_sentence_says_what_works():
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    for language, word in (("en_GB.UTF-8", "display"), ("zh_CN.UTF-8", "显示器")):
        run = subprocess.run(
            [sys.executable, "-m", "gpuplanner"],
            env={**environment, "LC_ALL": language, "PYTHONUTF8": "1"},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert run.returncode == 2
        assert word in run.stderr
        assert "gpuplanner --help" in run.stderr
        assert len(run.stderr.splitlines()) == 1
