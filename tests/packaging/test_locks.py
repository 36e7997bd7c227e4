"""The locks hold what pyproject.toml asks for, by hash, from wherever the user's pip is set up to look."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

LOCKS = ("requirements.lock", "requirements-dev.lock")


def entries(path: Path) -> list[str]:
    """The pins, each with its hashes, on a line of its own."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def pins(path: Path) -> dict[str, list[Requirement]]:
    found: dict[str, list[Requirement]] = {}
    for entry in entries(path):
        requirement = Requirement(entry.partition("--hash")[0])
        found.setdefault(canonical(requirement.name), []).append(requirement)
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def version(pin: Requirement) -> str:
    assert str(pin.specifier).startswith("=="), pin
    return str(pin.specifier).removeprefix("==")


def asked_for(project_root: Path, *groups: str) -> list[Requirement]:
    project = tomllib.loads((project_root / "pyproject.toml").read_text(encoding="utf-8"))
    lines = project["project"]["dependencies"] + [line for g in groups for line in project["dependency-groups"][g]]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize(("lock", "groups"), [(LOCKS[0], ["build"]), (LOCKS[1], ["build", "dev"])])
def test_each_dependency_is_locked_to_a_version_that_suits(project_root, lock, groups):
    locked = pins(project_root / lock)
    for requirement in asked_for(project_root, *groups):
        found = locked.get(canonical(requirement.name), [])
        assert found, f"{lock} lacks {requirement}: run `make lock`"
        for pin in found:
            assert requirement.specifier.contains(version(pin)), f"{lock} has {pin}, not {requirement}: run `make lock`"


@pytest.mark.parametrize("lock", LOCKS)
def test_each_pin_has_hashes_and_no_address(project_root, lock):
    for entry in entries(project_root / lock):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
        assert "://" not in entry


def test_what_is_tested_is_what_is_run(project_root):
    run, tested = (pins(project_root / lock) for lock in LOCKS)
    assert {name: sorted(map(str, p)) for name, p in run.items()} == {
        name: sorted(map(str, tested.get(name, []))) for name in run
    }


def test_the_qt_that_aborts_on_python_3_11_is_refused(project_root):
    (qt,) = (r for r in asked_for(project_root) if r.name == "PySide6-Essentials")
    assert not qt.specifier.contains("6.12.0")
    assert qt.specifier.contains("6.11.3")
