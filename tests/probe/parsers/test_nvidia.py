"""NVIDIA's tools: what a recording of a file cannot show."""

import re
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import NO, nvidia_smi_compute_apps, nvidia_smi_dmon, nvidia_smi_query_gpu
from gpuplanner.probe.parsers.nvidia_values import (
    MOST_GPUS,
    bus_id,
    device_id,
    mib,
    set_or_not,
    version,
    virtualization,
)
from gpuplanner.probe.values import UnreadableError
from tests.probe.said import DATA, expected, read

EXPECTED = expected("nvidia")
CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
HEAD = "| NVIDIA-SMI {0}   Driver Version: {0}   CUDA Version: 12.4 |\n"
ROW = (
    "|   {0}  NVIDIA A10   On  | 00000000:0{0}:00.0 Off |  0 |\n"
    "| N/A 30C P8 20W / 150W | 1MiB / 23028MiB | 0% Default |\n"
)


def test_each_table_gives_its_own_driver_to_its_gpus() -> None:
    found = read(HEAD.format("550.12.01") + ROW.format(0) + HEAD.format("560.12.01") + ROW.format(1)).evidence
    assert [(gpu.index, gpu.driver_version) for gpu in found.gpus] == [(0, "550.12.01"), (1, "560.12.01")]
    assert found.software is not None
    assert found.software.driver_version == "550.12.01"


def test_a_loop_of_tables_shows_each_gpu_once() -> None:
    assert len(read((HEAD.format("550.12.01") + ROW.format(0) + ROW.format(1)) * 50).evidence.gpus) == 2


def test_outputs_one_after_another_are_joined_to_one_gpu() -> None:
    listed = "GPU 0: NVIDIA A10 (UUID: GPU-abc)\n\n"
    query = "index, pcie.link.gen.max, uuid\n0, 4, GPU-abc\n\n"
    links = "GPU 0: NVIDIA A10 (UUID: GPU-abc)\nDevice does not have or support Nvlink\n"
    inspection = read(HEAD.format("550.12.01") + ROW.format(0) + listed + query + links)
    assert inspection.tool == "nvidia-smi"
    (gpu,) = inspection.evidence.gpus
    assert (gpu.index, gpu.uuid, gpu.pcie_gen_max, gpu.power_limit_w) == (0, "GPU-abc", 4, 150)
    assert inspection.evidence.nvlinks[0].active is None


def test_a_list_of_gpus_is_not_taken_for_links_nor_links_for_a_list() -> None:
    gpu = "GPU 0: NVIDIA A10 (UUID: GPU-abc)\n"
    assert read(gpu).tool == "nvidia-smi-L"
    assert read(f"{gpu}\t Link 0: 25 GB/s\n").tool == "nvidia-smi-nvlink"


def test_more_gpus_than_a_machine_has_are_not_read() -> None:
    rows = "".join(f"{index}, NVIDIA A10, 30\n" for index in range(MOST_GPUS + 50))
    inspection = read("index, name, temperature.gpu\n" + rows)
    assert len(inspection.evidence.gpus) == MOST_GPUS
    assert [problem.message.id for problem in inspection.problems] == ["probe.nvidia.too_many"]


def test_more_samples_than_are_read_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia_smi_dmon, "MOST_SAMPLES", 3)
    inspection = read("# gpu    pwr   temp\n# Idx      W      C\n" + "    0     97     38\n" * 5)
    assert len(inspection.evidence.samples) == 3
    assert [problem.message.id for problem in inspection.problems] == ["probe.nvidia.too_many_samples"]


def test_a_query_without_header_is_read_by_its_command() -> None:
    command = ("nvidia-smi", "--query-gpu=index,temperature.gpu,memory.total", "--format=csv,noheader,nounits")
    (gpu,) = read("3, 41, 46068\n", command=command).evidence.gpus
    assert (gpu.index, gpu.temperature_c, gpu.memory_total_mib) == (3, 41, 46068)


def test_a_query_of_one_column_is_read_too() -> None:
    assert [gpu.memory_total_mib for gpu in read("memory.total [MiB]\n46068 MiB\n").evidence.gpus] == [46068]


def test_prose_below_a_query_is_no_gpu() -> None:
    found = read("index, name\n0, NVIDIA A10\n\nAs you see, it is fine\nthis, too\n").evidence
    assert [gpu.name for gpu in found.gpus] == ["NVIDIA A10"]


@pytest.mark.parametrize("table", ["name, price, colour\napple, 3, red\n", "date,index,value\n2026,1,2\n"])
def test_other_tables_with_commas_are_not_queries(table: str) -> None:
    for parser in (nvidia_smi_query_gpu.PARSER, nvidia_smi_compute_apps.PARSER):
        assert parser.recognise(Output.of(table, "pasted")) == NO


def test_the_exit_code_stands_where_the_sentence_has_none() -> None:
    (fault,) = read("No devices were found\n", exit_code=6).evidence.faults
    assert (fault.kind, fault.code) == ("no_devices", 6)


def test_a_mask_is_not_made_of_some_flags() -> None:
    tree = "GPU 00000000:01:00.0\n    Clocks Event Reasons\n        Idle                : Active\n"
    assert read(tree).evidence.gpus[0].throttle_reasons is None
    whole = tree + "        SW Power Cap        : Not Active\n        HW Slowdown         : Active\n"
    assert read(whole).evidence.gpus[0].throttle_reasons == 0x9


def test_the_labels_of_another_tool_below_a_log_are_not_the_gpus() -> None:
    log = "==============NVSMI LOG==============\nGPU 00000000:01:00.0\n    Product Name    : NVIDIA A10\n"
    (gpu,) = read(f"{log}Handle 0x0001, DMI type 1\n    Serial Number    : 4711\nSerial Number: 4711\n").evidence.gpus
    assert (gpu.name, gpu.serial) == ("NVIDIA A10", None)


def test_a_log_that_is_indented_is_read() -> None:
    text = (DATA / "nvidia-smi-q" / "two_gpus_535.txt").read_text(encoding="utf-8")
    shifted = "".join(f"    {line}\n" for line in text.splitlines())
    gpus, moved = read(text).evidence.gpus, read(shifted).evidence.gpus
    assert [gpu.read() for gpu in moved] == [gpu.read() for gpu in gpus]


def test_endless_depth_of_xml_is_harmless() -> None:
    deep = "<nvidia_smi_log><gpu id='00000000:01:00.0'>" + "<a>" * 50_000
    assert read(f"{deep}<uuid>GPU-1</uuid>").evidence.gpus[0].uuid is None


def test_entities_are_never_resolved() -> None:
    doctype = '<!DOCTYPE nvidia_smi_log [<!ENTITY name "NVIDIA B300"><!ENTITY file SYSTEM "file:///etc/passwd">]>'
    gpu = "<gpu id='00000000:01:00.0'><product_name>{}</product_name><uuid>GPU-1</uuid></gpu>"
    for entity in ("&name;", "&file;"):
        inspection = read(f"{doctype}<nvidia_smi_log>{gpu.format(entity)}</nvidia_smi_log>")
        assert [gpu.name for gpu in inspection.evidence.gpus] == [None]
        assert [problem.message.id for problem in inspection.problems] == ["probe.nvidia.broken_xml"]


_XML_GPU = (
    "<gpu id='00000000:0{at}:00.0'>\n<product_name>NVIDIA A10</product_name>\n"
    "<processes>{processes}</processes>\n</gpu>\n"
)
_XML_PROCESS = "<process_info><pid>7</pid><type>C</type></process_info>"


def _xml(attached: int, *processes: str) -> str:
    gpus = "".join(_XML_GPU.format(at=at, processes=each) for at, each in enumerate(processes, 1))
    return f"<nvidia_smi_log>\n<attached_gpus>{attached}</attached_gpus>\n{gpus}</nvidia_smi_log>\n"


@pytest.mark.parametrize(
    ("text", "looked_for"),
    [
        (_xml(2, "", _XML_PROCESS), {"gpus", "processes"}),
        (_xml(0), {"gpus"}),
        (_xml(2, ""), {"gpus"}),
        (_xml(1, "N/A"), {"gpus"}),
        (_xml(2, "", "").partition("<processes>")[0], {"gpus"}),
        (_xml(2, "", "").rpartition("<processes>")[0], {"gpus"}),
        (_xml(1, "") + _xml(1, "").partition("<processes>")[0], {"gpus"}),
        (_xml(1, "").replace("<processes></processes>\n", ""), {"gpus"}),
        ("<nvidia_smi_log>\n<driver_version>570.1</driver_version>\n<attached_gpus>1</attached_gpus>\n", set()),
        ("<nvidia_smi_log>\n&a;</nvidia_smi_log>\n", set()),
        ("<nvidia_smi_log></nvidia_smi_log>\n", set()),
    ],
)
def test_only_whole_xml_tells_that_something_is_not_there(text: str, looked_for: set[str]) -> None:
    assert read(text).evidence.looked_for == looked_for


def test_a_gpu_that_breaks_off_is_not_counted_as_read() -> None:
    (problem,) = read(_xml(3, "", "", "").rpartition("</processes>")[0]).problems
    assert (problem.message.id, dict(problem.message.values)) == ("probe.nvidia.broken_xml", {"found": 2})


def test_a_strange_element_among_slices_is_left() -> None:
    slices = "<mig_devices><mig_device><index>0</index></mig_device><index>7</index></mig_devices>"
    found = read(f"<nvidia_smi_log><gpu id='00000000:01:00.0'>{slices}</gpu></nvidia_smi_log>").evidence
    assert [part.device_index for part in found.mig_devices] == [0]


def test_two_documents_in_one_output_are_both_read() -> None:
    document = "<nvidia_smi_log>\n<gpu id='00000000:0{0}:00.0'><uuid>GPU-{0}</uuid></gpu>\n</nvidia_smi_log>\n"
    found = read(document.format(1) + "$ date\n" + document.format(2)).evidence
    assert [(gpu.uuid, gpu.seen["uuid"].line) for gpu in found.gpus] == [("GPU-1", 2), ("GPU-2", 6)]


@pytest.mark.parametrize(
    ("convert", "text", "value"),
    [
        (bus_id, "1:2.3", "00000000:01:02.3"),
        (bus_id, "0000B57E:00:00.0", "0000B57E:00:00.0"),
        (device_id, "20b210de", "0x20B210DE"),
        (set_or_not, "Enabled*", "Enabled"),
        (virtualization, "PASSTHROUGH", "Pass-Through"),
        (version, "610.62 [Deprecated]", "610.62"),
        (mib, "2 GiB", 2048),
        (mib, "81559", 81559),
    ],
)
def test_words_of_the_tools(convert: Any, text: str, value: object) -> None:
    assert convert(text) == value


@pytest.mark.parametrize(
    ("convert", "text"),
    [
        (bus_id, "000:BA:80.0"),
        (bus_id, "GPU"),
        (device_id, "0x1"),
        (set_or_not, "Perhaps"),
        (mib, "-1 MiB"),
        (version, "v5"),
    ],
)
def test_what_is_no_such_word_is_not_made_one(convert: Any, text: str) -> None:
    with pytest.raises(UnreadableError):
        convert(text)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the recordings are not beside this checkout")
@pytest.mark.parametrize(
    ("folder", "a_gpu"),
    [
        ("nvidia-smi", r"^\|\s+\d+ .*\|\s+(?:[0-9A-F]+:[0-9A-F]+:[0-9A-F]+\.0|N/A)\s+\S+ \|.*\|$"),
        ("nvidia-smi-q", r"^GPU [0-9A-F]{8}:"),
        ("nvidia-smi-xml", r"^\s*<gpu id="),
    ],
)
def test_every_gpu_of_a_real_recording_is_read(folder: str, a_gpu: str) -> None:
    for path in sorted((CORPUS / folder).iterdir()):
        expected = len(re.findall(a_gpu, path.read_text(encoding="utf-8"), re.MULTILINE))
        if expected:
            assert len(inspect(Output.of(path.read_bytes(), path.name)).evidence.gpus) == expected, path.name
