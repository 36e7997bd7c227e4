"""A text of a known tool that says nothing is named as that tool's, and that it says nothing is said."""

import pytest

from tests.probe.said import read as inspected
from tests.probe.said import said

NAMED = {
    "nvidia-smi-topo": "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n",
    "dmesg": "-- No entries --\n",
    "nccl-log": "node1:12:12 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n",
    "lsblk-findmnt": "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n",
}
KNOWN_TO_BE_EMPTY = {
    "df": "Filesystem     1K-blocks      Used Available Use% Mounted on\n",
    "lsmod": "Module                  Size  Used by\n",
    "nvidia-smi-query-gpu": "index, name, memory.total [MiB], temperature.gpu\n",
    "nvidia-smi-mig": "| GPU instances:                         |\n| No GPU instances found: Not Found |\n",
    "amd-smi": "GPU  POWER   GPU_T   MEM_T   GFX_CLK   GFX%   MEM%      VRAM_USAGE\n",
    "nccl-tests": "#       size         count      type   redop    root     time   algbw   busbw #wrong\n",
}


@pytest.mark.parametrize("tool", NAMED)
def test_what_says_nothing_is_named_and_said(tool: str) -> None:
    assert said(inspected(NAMED[tool])) == {"tool": tool, "problems": ["1: probe.output.nothing_said"]}


@pytest.mark.parametrize("tool", KNOWN_TO_BE_EMPTY)
def test_an_empty_table_is_an_answer(tool: str) -> None:
    inspection = inspected(KNOWN_TO_BE_EMPTY[tool])
    assert inspection.tool == tool
    assert inspection.evidence.looked_for
    assert not inspection.problems


def test_a_word_of_nccl_in_prose_is_no_log_of_it() -> None:
    assert inspected("I see NCCL INFO lines everywhere\n").tool is None
