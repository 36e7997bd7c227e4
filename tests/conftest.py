"""What every test gets: no screen, a home of its own, no threads left behind."""

import gc
import itertools
import os
import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from gpuplanner.catalog.catalog import Catalog
    from gpuplanner.catalog.efficiency import Efficiencies

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("gpuplanner", deadline=None)
hypothesis.settings.load_profile("gpuplanner")

ROOT = Path(__file__).resolve().parent.parent
_HOMES = itertools.count()
USER_FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "APPDATA", "LOCALAPPDATA")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests stay until the end: Python looks for garbage neither while they are found nor among them."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of shared facts, recordings and measurements; the test is skipped where it does not lie beside."""
    shared = ROOT.parent / "shared"
    if not (shared / "facts").is_dir():
        pytest.skip("the shared facts are not beside this checkout")
    return shared


@pytest.fixture
def screenshots_dir(tmp_path: Path) -> Path:
    """Where pictures go: the README's folder under `make screenshots`, else one that is thrown away."""
    folder = ROOT / named if (named := os.environ.get("GPUPLANNER_SCREENSHOTS")) else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@cache
def _catalog(folder: Path) -> "Catalog":
    from gpuplanner.catalog.reading import load_catalog

    return load_catalog(folder)


@cache
def _efficiencies(folder: Path) -> "Efficiencies":
    from gpuplanner.catalog.efficiency import read_efficiencies

    return read_efficiencies(folder)


def _with_overlays(
    folder: Path, overlays: Sequence[Path] = (), today: date | None = None, priced_in: Collection[str] = ()
) -> "Catalog":
    from gpuplanner.catalog.overlays import with_overlays

    return with_overlays(_catalog(folder), overlays, today, priced_in) if overlays else _catalog(folder)


@pytest.fixture(scope="session")
def shipped_catalog() -> "Catalog":
    """The catalog as it is shipped, without overlays."""
    from gpuplanner.paths import shipped

    return _catalog(shipped("catalogs"))


@pytest.fixture(scope="session")
def shipped_efficiencies() -> "Efficiencies":
    """The efficiency tables as they are shipped."""
    from gpuplanner.paths import shipped

    return _efficiencies(shipped("catalogs") / "efficiency")


@pytest.fixture(autouse=True)
def _shipped_files_are_read_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workspaces share what they read of the app's own files, a third of a second each time, and that nothing changes.

    Overlays are read anew by each. `load_catalog` itself stays as it is, and so do workspaces where time is measured.
    """
    if request.node.get_closest_marker("alone") is None:
        monkeypatch.setattr("gpuplanner.workspace.load_catalog", _with_overlays)
        monkeypatch.setattr("gpuplanner.workspace.read_efficiencies", _efficiencies)


@pytest.fixture(autouse=True)
def user_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for settings, data and caches, so that no test sees or changes those of the person who runs it."""
    # A name of its own: to number one, all those before are looked at, which are thousands.
    home = tmp_path_factory.mktemp(f"home-{next(_HOMES)}", numbered=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in USER_FOLDERS:
        monkeypatch.setenv(name, str(home / name.lower()))
    return home


@pytest.fixture(autouse=True)
def _no_threads_left() -> Iterator[None]:
    """Fails a test that leaves a thread or a job of Qt's pool running: it would go on into the tests that follow."""
    before = set(threading.enumerate())
    yield
    if core := sys.modules.get("PySide6.QtCore"):
        assert core.QThreadPool.globalInstance().waitForDone(2000), "jobs left running in Qt's thread pool"
    left: list[threading.Thread] = []
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        left = [t for t in threading.enumerate() if t not in before and not isinstance(t, threading._DummyThread)]
        if not left:
            return
        time.sleep(0.01)
    pytest.fail(f"threads left running: {', '.join(t.name for t in left)}")
