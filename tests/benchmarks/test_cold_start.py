"""From the command to a window that can be used: the real start, until the catalog is read and the plan in sight."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.measuring import REFERENCE_PER_S, reference_per_s

START = """
import os, sys, time
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from gpuplanner.ui import application

read = application.Session._catalog_read


def usable(session, catalog):
    read(session, catalog)
    QTimer.singleShot(0, QApplication.quit)


application.Session._catalog_read = usable
code = application.main([])
print(code, time.process_time(), flush=True)
os._exit(0)
"""


@pytest.mark.slow
def test_a_window_can_be_used_within_a_second_and_a_half(tmp_path: Path) -> None:
    """In seconds of the processor, which others on the same machine take no part of; the best of a few starts."""
    # Python keeps what it compiled, as for a person: only the first start compiles.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"QT_QPA_PLATFORM": "offscreen", "GPUPLANNER_HOME": str(tmp_path / "home")}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path / "compiled")
    best = 99.0
    for _ in range(4):
        run = subprocess.run(
            [sys.executable, "-c", START], capture_output=True, text=True, check=True, timeout=60, env=environment
        )
        code, seconds = run.stdout.split()[-2:]
        assert code == "0"
        best = min(best, float(seconds))
        if best < 1.5:
            break
    slowness = max(1.0, REFERENCE_PER_S / reference_per_s())
    assert best < 1.5 * slowness
