"""The wheel holds all that running needs."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel(project_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    built = subprocess.run(build, cwd=project_root, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


@pytest.mark.parametrize("name", ["catalogs", "resources"])
def test_the_facts_and_resources_are_inside(wheel, project_root, name):
    shipped = {
        f"gpuplanner/_data/{path.relative_to(project_root).as_posix()}"
        for path in (project_root / name).rglob("*")
        if path.is_file()
    }
    assert shipped
    assert shipped <= set(zipfile.ZipFile(wheel).namelist())


def test_it_runs_where_there_is_no_checkout(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    run = subprocess.run(
        [sys.executable, "-m", "gpuplanner", "catalog", "resolve", "H100", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in {0, 1}, run.stderr
    assert '"candidates"' in run.stdout
