"""What is committed belongs to everybody: no path of one machine, no address of a package registry."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

# Written in pieces, so that this file is not found by its own patterns.
REGISTRIES = r"\b(?:" + "|".join(["pypi", "pythonhosted", "npmjs", "deb" + "ian", "ubu" + "ntu"]) + r")\.(?:org|com)\b"
MACHINE_PATHS = (
    r"(?<![\w.~:/])/(?:" + "|".join(["wo" + "rk", "ro" + "ot", "ho" + "me/[a-z]", "Us" + "ers/[a-z]"]) + r")/"
)
TEMPORARY = r"(?<![\w.~/])/" + "tmp/" + r"[a-z]"
FORBIDDEN = re.compile(f"{REGISTRIES}|{MACHINE_PATHS}|{TEMPORARY}")


@pytest.fixture(scope="module")
def committed(project_root: Path) -> list[Path]:
    if shutil.which("git") is None or not (project_root / ".git").exists():
        pytest.skip("this is not a git checkout, so there is no telling what is committed")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=project_root, capture_output=True, text=True, check=True)
    return [path for name in listed.stdout.split("\0") if name and (path := project_root / name).is_file()]


def test_no_committed_file_names_a_registry_or_a_machine(project_root, committed):
    found = []
    for path in committed:
        content = path.read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode("utf-8").splitlines(), 1):
            if match := FORBIDDEN.search(line):
                found.append(f"{path.relative_to(project_root)}:{number}: {match.group()}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://py" + "pi.org/simple",
        "open('/wo" + "rk/main/catalogs')",
        'source: "/ro' + 'ot/notes"',
        "see /tm" + "p/run1",
    ],
)
def test_such_a_line_is_found(line):
    assert FORBIDDEN.search(line)


@pytest.mark.parametrize("line", ["docs/ho" + "me/index", "https://example.org/wo" + "rk/x", "../wo" + "rk/shared"])
def test_another_line_is_not(line):
    assert not FORBIDDEN.search(line)


def test_no_committed_file_is_large(project_root, committed):
    large = {str(p.relative_to(project_root)): p.stat().st_size for p in committed if p.stat().st_size > 5_000_000}
    assert large == {}
