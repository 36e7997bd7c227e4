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


RUBBISH = "\ufffdx\u063e,7\ufffdb, 31\ufffdU, q\nk4/],,-\ufffd\n"
WIDE = ("nvidia-smi", "--query-compute-apps=gpu_uuid,pid,process_name,used_memory", "--format=csv,noheader")


@pytest.mark.parametrize("exit_code", [0, 255])
def test_what_a_broken_program_prints_is_no_process(exit_code):
    for command in (QUERY, PIDS, WIDE):
        evidence = inspect(Output.of(RUBBISH, "x", command, exit_code)).evidence
        assert (evidence.gpus, evidence.processes, evidence.looked_for) == ((), (), frozenset())


def test_a_header_above_rubbish_does_not_say_that_none_computes():
    assert not looked_for("pid, used_gpu_memory [MiB]\n\ufffdx, y\n", ())


def test_a_row_without_a_number_is_a_process_where_the_tool_says_why():
    for cell in ("[Insufficient Permissions]", "[N/A]"):
        assert looked_for(f"{cell}, 512 MiB\n")


def test_no_virtualization_is_made_of_rubbish():
    for option in ("-v", "-c"):
        command = ("systemd-detect-virt", option)
        evidence = inspect(Output.of(RUBBISH.replace(" ", ""), "x", command, 255)).evidence
        assert (evidence.system, evidence.looked_for) == (None, frozenset())
        assert inspect(Output.of("none\n", "x", command, 1)).evidence.looked_for
