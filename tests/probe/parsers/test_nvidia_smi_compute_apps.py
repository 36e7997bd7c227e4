import pytest

from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.output import Output

QUERY = ("nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader")
PIDS = ("nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader")


def looked_for(text: str, command: tuple[str, ...] = QUERY, exit_code: int | None = 0) -> bool:
    return "processes" in inspect(Output.of(text, "x", command, exit_code)).evidence.looked_for


@pytest.mark.parametrize("command", [QUERY, PIDS])
def test_a_query_that_could_not_run_says_nothing_of_processes(command):
    text = "bash: nvidia-smi: No such file or directory\n"
    assert not looked_for(text, command, 127)
    assert not inspect(Output.of(text, "x", command, 127)).evidence.processes
    assert not looked_for("", command, 9)


def test_silence_after_a_query_without_header_says_that_none_computes():
    assert looked_for("")
    assert looked_for("pid, used_gpu_memory [MiB]\n", ())


def test_rows_without_header_are_processes():
    text = "4121, 512 MiB\n"
    assert looked_for(text)
    assert [each.pid for each in inspect(Output.of(text, "x", QUERY, 0)).evidence.processes] == [4121]
