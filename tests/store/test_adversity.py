"""What happens to a real store: no permission, a full disk, a process that is killed while it saves, two that save."""

import contextlib
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpuplanner.messages import InputError
from gpuplanner.store.plans import PlanShelf
from gpuplanner.store.store import FILE_NAME, open_store
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Serving

NOBODY = 65534
PLAN = Plan(workload=Serving(model=ModelChoice(catalog_id="a/b"), input_tokens=10, output_tokens=10, concurrency=1))
SAVER = """
import sys
from pathlib import Path
from gpuplanner.store.plans import PlanShelf
from gpuplanner.store.store import open_store
from gpuplanner.workload.plan_text import parse_plan

plan = parse_plan(sys.stdin.readline(), "")
shelf = PlanShelf(open_store(Path(sys.argv[1])))
plan_id, revision = shelf.add(plan)
for number in range(int(sys.argv[2])):
    changed = plan.model_copy(update={"name": f"{number}", "notes": "x" * 5000})
    revision = shelf.save(plan_id, changed, revision).revision
    print(plan_id, number, flush=True)
"""


@contextlib.contextmanager
def saving(folder: Path, times: int) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that saves a plan many times, and prints each save once it is done."""
    command = [sys.executable, "-c", SAVER, str(folder), str(times)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        process.stdin.write(PLAN.model_dump_json() + "\n")
        process.stdin.close()
        yield process


def as_nobody(work: Callable[[], str]) -> str:
    """What `work` says in a process without rights. It is a fork, since nobody may not read this Python either."""
    if not hasattr(os, "fork") or os.geteuid() != 0:
        pytest.skip("only root can become somebody without rights")
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of other tests have no part in what the fork does
        child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            said = work()
        except BaseException as fault:  # noqa: BLE001 -- told to the parent, which fails
            said = f"{type(fault).__name__} {fault}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def shared_folder(tmp_path: Path) -> Path:
    """A folder that a person without rights can reach."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    store = open_store(home)
    PlanShelf(store).add(PLAN.model_copy(update={"name": "kept"}))
    store.close()
    return home


def names_and_notes(home: Path) -> str:
    store = open_store(home)
    shelf = PlanShelf(store)
    try:
        shelf.add(PLAN.model_copy(update={"name": "new"}))
        saved = "saved"
    except InputError as fault:
        saved = fault.message.id
    return " ".join([saved, *sorted(p.name for p in shelf.listed()), *(note.id for note in store.notes)])


@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "expected"),
    [
        (0o755, 0o644, "saved kept new store.cannot_open"),
        (0o777, 0o644, "store.read_only kept"),
        (0o755, 0o600, "saved new store.cannot_open"),
        (0o777, 0o600, "saved new store.cannot_open"),
        (0o777, 0o666, "saved kept new"),
    ],
)
def test_without_rights_what_can_be_read_is_there_and_a_note_says_the_rest(
    folder_mode, file_mode, expected, shared_folder
):
    (shared_folder / FILE_NAME).chmod(file_mode)
    shared_folder.chmod(folder_mode)
    assert as_nobody(lambda: names_and_notes(shared_folder)) == expected
    store = open_store(shared_folder)
    assert "kept" in [plan.name for plan in PlanShelf(store).listed()]
    assert store.notes == ()


def test_a_folder_that_cannot_be_made_is_said(shared_folder):
    assert as_nobody(lambda: names_and_notes(shared_folder / "below")) == "saved new store.no_folder"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with 300 kB."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts as Linux does")
def test_a_full_disk_loses_nothing_that_was_saved(small_disk):
    store = open_store(small_disk)
    shelf = PlanShelf(store)
    plan_id, revision = shelf.add(PLAN)
    saved, refused = 0, ""
    while not refused and saved < 1000:
        changed = PLAN.model_copy(update={"name": str(saved + 1), "notes": "x" * 5000})
        try:
            revision = shelf.save(plan_id, changed, revision).revision
        except InputError as full:
            refused = full.message.id
        else:
            saved += 1
    assert refused == "store.full"
    assert saved > 3
    store.close()

    again = open_store(small_disk)
    latest = PlanShelf(again).latest(plan_id)
    assert latest is not None
    assert latest.plan.name == str(saved)
    again.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts as Linux does")
def test_a_disk_that_is_full_from_the_start_is_said(small_disk):
    with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    store = open_store(small_disk)
    assert [str(note.values["reason"]) for note in store.notes if note.id == "store.cannot_open"] != []
    assert "store.reason.full" in str(store.notes[0].values["reason"])


@pytest.mark.slow
def test_what_was_saved_before_a_kill_is_there(tmp_path):
    for lines in range(1, 13):
        with saving(tmp_path, 10_000) as process:
            assert process.stdout is not None
            told = [process.stdout.readline() for _ in range(lines * 3)][-1]
            process.kill()
            rest = process.stdout.readlines()
        whole = [line for line in (told, *rest) if line.endswith("\n")]
        plan_id, number = whole[-1].split()
        store = open_store(tmp_path)
        assert store.notes == ()
        latest = PlanShelf(store).latest(plan_id)
        assert latest is not None
        assert int(latest.plan.name) >= int(number)
        store.close()
    assert not list(tmp_path.glob("*damaged*"))


@pytest.mark.slow
def test_two_processes_save_at_once_and_nothing_is_lost(tmp_path):
    times = 60
    with saving(tmp_path, times) as first, saving(tmp_path, times) as second:
        outputs = [process.stdout.read() for process in (first, second) if process.stdout]
    ids = {output.split()[0] for output in outputs}
    assert len(ids) == 2
    shelf = PlanShelf(open_store(tmp_path))
    for plan_id in ids:
        assert [int(r.plan.name or -1) for r in shelf.history(plan_id)] == [*range(times - 1, -1, -1), -1]
