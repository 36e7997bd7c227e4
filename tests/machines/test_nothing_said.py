"""What somebody saved is named even where nothing in it bears on a machine."""

from pathlib import Path

import pytest

from gpuplanner.machines.evidence import of_files, of_text
from gpuplanner.messages import InputError

OF_A_DAEMON = "Aug 17 00:00:24 node1 systemd[1]: Finished Rotate log files.\n"


def test_a_log_without_a_line_of_the_kernel_is_named() -> None:
    with pytest.raises(InputError) as fault:
        of_text(OF_A_DAEMON, "pasted")
    assert fault.value.message.id == "machine.nothing_said"
    assert fault.value.message.values["tools"] == "dmesg"


def test_files_that_say_nothing_are_named_by_their_tools(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(OF_A_DAEMON, encoding="utf-8")
    (tmp_path / "b.txt").write_text("nothing known\n", encoding="utf-8")
    with pytest.raises(InputError) as fault:
        of_files([tmp_path / "a.log", tmp_path / "b.txt"])
    assert fault.value.message.values["tools"] == "dmesg"


def test_a_text_of_no_tool_is_not_said_to_be_one() -> None:
    with pytest.raises(InputError) as fault:
        of_text("nothing known\n", "pasted")
    assert fault.value.message.id == "machine.nothing_recognised"
