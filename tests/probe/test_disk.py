"""Reading what lies on a disk, measured: what is read, what is left alone, and that nothing of it changes."""

import os
import threading
import time

import pytest

from gpuplanner.probe.there import disk
from gpuplanner.probe.there.cuda import Ended
from gpuplanner.probe.there.disk import measure_disks
from gpuplanner.probe.there.report import Report


@pytest.fixture
def brief(monkeypatch):
    """A disk that is read for moments, of files as small as a test can make."""
    monkeypatch.setattr(disk, "IN_A_ROW_S", 0.05)
    monkeypatch.setattr(disk, "AT_RANDOM_S", 0.03)
    monkeypatch.setattr(disk, "LEAST_FILE_BYTES", 1 << 20)
    monkeypatch.setattr(disk, "LEAST_BYTES", 2 << 20)


@pytest.fixture
def measured(brief):
    def run(*places, stop=None):
        frames: list[dict[str, object]] = []
        measure_disks(Report(frames.append, stop or threading.Event(), 30.0), [str(place) for place in places])
        return frames

    return run


def put(folder, name, content):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return path


def filled(tmp_path):
    return [put(tmp_path / "data", f"shard-{at}.bin", os.urandom(3 << 20)) for at in range(2)]


def results(frames):
    return [frame for frame in frames if frame["frame"] == "result"]


def reasons(frames):
    return [frame["reason"] for frame in frames if frame["frame"] == "failed"]


def test_in_a_row_and_at_random_with_what_each_says(measured, tmp_path):
    filled(tmp_path)
    frames = measured(tmp_path / "data")
    assert frames[0] == {"frame": "measuring", "what": "disk", "gpu": None, "share": 0}
    found = results(frames)
    # Names that begin with "read" are read in a row, for who judges them.
    assert [(one["operation"], one["block_bytes"], one["queue_depth"]) for one in found] == [
        ("read", 1 << 20, 8), ("randread", 4096, 1), ("randread", 4096, 16)
    ]  # fmt: skip
    for one in found:
        assert one["gb_per_s"] > 0
        assert one["gb_per_s"] * 1e9 == pytest.approx(one["operations_per_s"] * one["block_bytes"], rel=0.01)
        assert 0 < one["latency_mean_us"] <= one["latency_p99_us"] * 1.5
        assert one["direct"] in {True, False}
        assert one["job"].startswith("2 files, ")


def test_nothing_of_the_files_changes_not_even_when_they_were_read_last(measured, tmp_path):
    files = filled(tmp_path)
    long_ago = time.time() - 10 * 86400
    for path in files:
        os.utime(path, (long_ago, long_ago + 60))
    before = [path.stat() for path in files]
    names = sorted(tmp_path.rglob("*"))
    assert results(measured(tmp_path / "data"))
    assert [path.stat() for path in files] == before
    assert sorted(tmp_path.rglob("*")) == names


def test_a_file_whose_time_of_reading_would_be_written_is_left_alone(measured, tmp_path, monkeypatch):
    files = filled(tmp_path)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    for path, hours_since in zip(files, (30, 1), strict=True):
        os.utime(path, (time.time() - hours_since * 3600, time.time() - 40 * 3600))
    monkeypatch.setattr(disk, "_look", with_old_changes(disk._look))
    if not os.statvfs(tmp_path).f_flag & os.ST_RELATIME:
        pytest.skip("the file system of the tests writes this time in another way")
    found = results(measured(tmp_path / "data"))
    # Read an hour ago and changed before that: reading it once more is not noted.
    assert {one["job"].split(",")[0] for one in found} == {"1 files"}


def with_old_changes(look):
    """As if what the test has just done to its files were no change of them."""

    def told(folder):
        names, folders, files = look(folder)
        return names, folders, [file._replace(changed_s=time.time() - 40 * 3600) for file in files]

    return told


def test_through_the_page_cache_it_is_not_called_direct(measured, tmp_path, monkeypatch):
    filled(tmp_path)
    monkeypatch.setattr(disk, "_DIRECT", 0)
    assert {one["direct"] for one in results(measured(tmp_path / "data"))} == {False}


def test_a_file_system_that_takes_the_flag_and_reads_through_its_cache_is_not_called_direct(
    measured, tmp_path, monkeypatch
):
    filled(tmp_path)
    monkeypatch.setattr(disk, "_opens", lambda *_: True)
    monkeypatch.setattr(disk, "_DIRECT", 0)
    monkeypatch.setattr(disk, "_PAST_THE_CACHE", ())
    # Just written, all of it lies in the cache.
    assert {one["direct"] for one in results(measured(tmp_path / "data"))} == {False}


def test_files_with_holes_and_small_ones_are_left_alone(measured, tmp_path):
    put(tmp_path / "data", "small.bin", os.urandom(1 << 19))
    with (tmp_path / "data" / "holes.bin").open("wb") as hollow:
        hollow.truncate(64 << 20)
    (tmp_path / "data" / "away").symlink_to("/proc")
    assert reasons(measured(tmp_path / "data")) == ["no_file"]


def test_nothing_but_zeros_tells_nothing(measured, tmp_path):
    put(tmp_path / "data", "zeros.bin", bytes(4 << 20))
    frames = measured(tmp_path / "data")
    assert (reasons(frames), results(frames)) == (["only_zeros"], [])


def test_a_folder_that_is_not_there(measured, tmp_path):
    frames = measured(tmp_path / "nowhere")
    assert [(frame["reason"], frame["said"]) for frame in frames if frame["frame"] == "failed"] == [
        ("no_file", str(tmp_path / "nowhere"))
    ]


def test_what_lies_in_memory_or_on_another_machine_is_left_alone(measured, tmp_path, monkeypatch):
    filled(tmp_path)
    root = str(tmp_path)
    monkeypatch.setattr(disk, "_mounts", lambda: {"/": "ext4", root: "tmpfs"})
    assert reasons(measured(tmp_path / "data")) == ["no_file"]
    monkeypatch.setattr(disk, "_mounts", lambda: {"/": "ext4", root: "nfs4"})
    monkeypatch.setattr(disk, "_USUAL_PLACES", (f"{root}/da*",))
    assert reasons(measured()) == ["no_file"]
    # Named by a person it is read.
    assert results(measured(tmp_path / "data"))


def test_told_to_stop_it_leaves_at_once(measured, brief, monkeypatch, tmp_path):
    filled(tmp_path)
    monkeypatch.setattr(disk, "AT_RANDOM_S", 60.0)
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    with pytest.raises(Ended):
        measured(tmp_path / "data", stop=stop)
    assert 0.25 < time.monotonic() - began < 2
