"""Which installed tools run on a machine, with which arguments."""

import pytest

from gpuplanner.messages import InputError
from gpuplanner.probe.installed.tools import PREFIX, TOOLS, There, checked_folder, commands

ALL = There({tool.id: f"/opt/{tool.names[0]}" for tool in TOOLS} | {"fio": "/usr/bin/fio"}, 8)


def argv(there=ALL, wanted=(), **more):
    return {each.command.id.removeprefix(PREFIX): each.command.argv for each in commands(there, wanted, **more)}


def test_what_nobody_named_is_short_and_writes_nothing():
    found = argv()
    assert list(found) == ["nvbandwidth", "nccl-tests", "dcgm-1"]
    assert found["nccl-tests"] == ("/opt/all_reduce_perf", "-b", "8M", "-e", "1G", "-f", "2", "-g", "8")
    assert found["nvbandwidth"][:2] == ("/opt/nvbandwidth", "-t")
    assert found["dcgm-1"] == ("/opt/dcgmi", "diag", "-r", "1")
    assert all(each.file is None for each in commands(ALL))


def test_one_gpu_has_nobody_to_copy_to():
    found = argv(There(ALL.paths, 1))
    assert "nccl-tests" not in found
    assert not [word for word in found["nvbandwidth"] if word.startswith("device_to_device")]
    assert argv(There(ALL.paths, None)) == found


def test_only_what_is_there_and_only_what_is_named():
    assert argv(There({}, 8)) == {}
    assert list(argv(wanted=("gpu-burn", "dcgm-2"))) == ["dcgm-2", "gpu-burn"]
    # In the folder of the program lies what it compares with.
    assert argv(wanted=("gpu-burn",))["gpu-burn"] == ("/opt/gpu_burn", "-m", "50%", "-c", "/opt/compare.ptx", "30")


def test_fio_runs_in_a_named_folder_alone_and_in_a_file_of_its_own():
    (each,) = commands(ALL, folder="/data", token="ab12")
    assert each.file == "/data/gpuplanner-fio-ab12"
    assert f"--filename={each.file}" in each.command.argv
    assert "--direct=1" in each.command.argv
    assert [word for word in each.command.argv if word.startswith("--rw=")] == [
        "--rw=write",
        "--rw=read",
        "--rw=randread",
    ]
    assert each.file in str(each.note.values)
    assert not each.loads_gpus


@pytest.mark.parametrize("folder", ["data", "", "/data:/dev/sda", "/da\nta", "/a\\b", "/$HOME", "~/x"])
def test_a_folder_that_fio_would_read_otherwise_is_refused(folder):
    with pytest.raises(InputError):
        checked_folder(folder)


def test_a_persons_own_command_is_split_as_in_a_shell_and_given_to_none():
    found = argv(own=("vllm bench latency --model 'a b' ; rm -rf x", "nsys --version"))
    assert found == {
        "own-1": ("vllm", "bench", "latency", "--model", "a b", ";", "rm", "-rf", "x"),
        "own-2": ("nsys", "--version"),
    }


@pytest.mark.parametrize("text", ["", "  ", "echo 'open", "a\0b"])
def test_what_is_no_command_is_refused(text):
    with pytest.raises(InputError):
        commands(ALL, own=(text,))


def test_an_unknown_tool_is_refused_with_those_there_are():
    with pytest.raises(InputError) as fault:
        commands(ALL, ("nvbandwith",))
    assert "nvbandwidth" in str(fault.value.message.values["tools"])
