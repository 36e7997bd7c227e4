import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from gpuplanner.messages import InputError
from gpuplanner.probe import saved
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.recording import written
from gpuplanner.probe.saved import outputs_in, outputs_of
from tests.probe.test_recording import RUN

FILES = {"a/nvidia-smi.txt": b"GPU 0: X (UUID: GPU-1)\n", "b.log": b"\xff\n"}


def names(outputs):
    return [output.name for output in outputs]


def a_folder(tmp_path):
    for name, content in FILES.items():
        path = tmp_path / "machine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "machine" / "link").symlink_to("/etc/passwd")
    return tmp_path / "machine"


def a_zip(tmp_path):
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    return path


def a_tar(tmp_path):
    path = tmp_path / "m.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        device = tarfile.TarInfo("null")
        device.type = tarfile.CHRTYPE
        archive.addfile(device)
    return path


@pytest.mark.parametrize("made", [a_folder, a_zip, a_tar])
def test_what_a_folder_or_an_archive_holds(tmp_path, made):
    outputs = outputs_of(made(tmp_path))
    assert names(outputs) == list(FILES)
    assert outputs[0].lines[0].text == "GPU 0: X (UUID: GPU-1)"


def test_one_file_packed_or_not(tmp_path):
    plain, packed = tmp_path / "x.txt", tmp_path / "x.log.gz"
    plain.write_text("hi\n")
    packed.write_bytes(gzip.compress(b"hi\n"))
    assert [(o.name, o.text) for o in (*outputs_of(plain), *outputs_of(packed))] == [
        ("x.txt", "hi\n"),
        ("x.log", "hi\n"),
    ]


def test_a_recording_is_one_output_a_command(tmp_path):
    path = tmp_path / "x.gpurun"
    path.write_text(written(RUN), encoding="utf-8")
    assert names(outputs_of(path)) == ["nvidia-smi", "cat x"]


def test_names_in_an_archive_lead_nowhere(tmp_path):
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../etc/cron.d/x", b"hi")
        archive.writestr("/abs/y", b"hi")
    assert names(outputs_of(path)) == ["etc/cron.d/x", "abs/y"]


def test_an_archive_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "MOST_BYTES", 10)
    with pytest.raises(InputError) as fault:
        outputs_of(a_zip(tmp_path))
    assert fault.value.message.id == "probe.saved.too_much"


@pytest.mark.parametrize(
    ("content", "id_"),
    [
        (b"PK\x03\x04broken", "probe.saved.cannot_read"),
        (b"\x1f\x8b\x08broken", "probe.saved.cannot_read"),
        (b"BZh9broken", "probe.saved.unknown_archive"),
    ],
)
def test_a_broken_archive_is_said_to_be_one(tmp_path, content, id_):
    path = tmp_path / "m"
    path.write_bytes(content)
    with pytest.raises(InputError) as fault:
        outputs_of(path)
    assert fault.value.message.id == id_


def test_nothing_there(tmp_path):
    (tmp_path / "empty").mkdir()
    for path, id_ in ((tmp_path / "no", "probe.saved.missing"), (tmp_path / "empty", "probe.saved.empty")):
        with pytest.raises(InputError) as fault:
            outputs_of(path)
        assert fault.value.message.id == id_


def test_pasted_text():
    assert outputs_in(b"GPU 0", "pasted")[0].text == "GPU 0"


def fault_of(path):
    with pytest.raises(InputError) as fault:
        outputs_of(path)
    return fault.value.message.id


def test_what_lies_between_two_files_of_a_packed_archive_is_bounded_too(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(saved, "LARGEST_BYTES", 1_000)
    path = tmp_path / "m.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("huge")
        member.size = 3_000_000
        archive.addfile(member, io.BytesIO(bytes(3_000_000)))
        member = tarfile.TarInfo("small")
        archive.addfile(member, io.BytesIO(b""))
    assert fault_of(path) == "probe.saved.too_much"


def test_an_archive_that_says_how_much_it_holds_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "MOST_BYTES", 1_000)
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(2_000))
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it is unpacked"))
    assert fault_of(path) == "probe.saved.too_much"


def test_a_file_of_nothing_is_no_archive(tmp_path):
    """Read as a tar, 64 MB of zeros took half a minute, and the answer was that it holds no file."""
    for name, content in {"plain": bytes(4_096), "packed.gz": gzip.compress(bytes(4_096))}.items():
        (tmp_path / name).write_bytes(content)
        assert len(outputs_of(tmp_path / name)) == 1


def test_an_archive_with_a_password_says_so(tmp_path):
    path = a_zip(tmp_path)
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(mark) + offset] |= 1
    path.write_bytes(content)
    assert fault_of(path) == "probe.saved.encrypted"


@pytest.mark.parametrize("made", [a_zip, a_tar])
def test_an_archive_that_breaks_off_says_so(tmp_path, made):
    path = made(tmp_path)
    path.write_bytes(path.read_bytes()[:60])
    assert fault_of(path) == "probe.saved.cannot_read"


def closed(monkeypatch, *names_):
    """These files and folders cannot be opened, whoever runs the tests."""
    for method in ("open", "iterdir"):
        real = getattr(Path, method)

        def refused(path, *given, _real=real, **named):
            if path.name in names_:
                raise PermissionError(13, "Permission denied")
            return _real(path, *given, **named)

        monkeypatch.setattr(Path, method, refused)


def reasons(outputs):
    return [(output.name, output.unread and output.unread.values["file"]) for output in outputs]


def test_one_file_that_cannot_be_read_takes_no_other_along(tmp_path, monkeypatch):
    folder = a_folder(tmp_path)
    closed(monkeypatch, "b.log")
    outputs = outputs_of(folder)
    assert reasons(outputs) == [("a/nvidia-smi.txt", None), ("b.log", "b.log")]
    inspection = inspect(outputs[1])
    assert (inspection.tool, [each.message.id for each in inspection.problems]) == (None, ["probe.saved.cannot_read"])


def test_a_folder_inside_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    folder = a_folder(tmp_path)
    closed(monkeypatch, "a")
    assert reasons(outputs_of(folder)) == [("a", "a"), ("b.log", None)]


def test_where_nothing_can_be_read_the_reason_is_told(tmp_path, monkeypatch):
    folder = a_folder(tmp_path)
    closed(monkeypatch, "a", "b.log")
    with pytest.raises(InputError) as fault:
        outputs_of(folder)
    assert (fault.value.message.id, fault.value.message.values["file"]) == ("probe.saved.cannot_read", "a")


def test_a_damaged_recording_and_a_damaged_member_leave_the_others(tmp_path):
    path = a_zip(tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("c.gpurun", '{"format":"gpurun/1"\n')
        archive.writestr("d.txt", b"GPU 1: Y (UUID: GPU-2)\n")
    content = bytearray(path.read_bytes())
    content[content.find(b"GPU 0: X")] ^= 1
    path.write_bytes(content)
    outputs = outputs_of(path)
    assert [(output.name, output.unread is None) for output in outputs] == [
        ("a/nvidia-smi.txt", False),
        ("b.log", True),
        ("c.gpurun", False),
        ("d.txt", True),
    ]


def test_of_a_folder_of_too_many_not_all_names_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "MOST_FILES", 2)
    monkeypatch.setattr(Path, "rglob", lambda *_: pytest.fail("the whole tree is read"))
    asked = []
    real = Path.iterdir

    def counted(path):
        for each in real(path):
            asked.append(each)
            yield each

    monkeypatch.setattr(Path, "iterdir", counted)
    for at in range(60):
        (tmp_path / f"{at:02d}").mkdir()
    assert fault_of(tmp_path) == "probe.saved.too_much"
    assert len(asked) == 21
