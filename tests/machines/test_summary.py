"""A machine in a few lines, as `inspect` and `probe` show it."""

import pytest

from gpuplanner.machines.field_words import field_value
from gpuplanner.machines.no_gpus import no_gpus
from gpuplanner.machines.summary import _FIELDS, summary
from gpuplanner.messages import Language, Message, Translator, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import ToolFault
from gpuplanner.probe.evidence.gpu import Gpu, Process
from gpuplanner.probe.evidence.host import Cpu, HostMemory, Limits
from gpuplanner.units import Display

ENGLISH = Translator(Language.ENGLISH)


def said(evidence: Evidence, display: Display | None = None) -> dict[str, list[tuple[str, str]]]:
    def rendered(value):
        return ENGLISH.text(value) if isinstance(value, Message) else str(value)

    return {
        ENGLISH.text(row.section): [((name and ENGLISH.text(name)) or "", rendered(value)) for name, value in row.said]
        for row in summary(evidence, display)
    }


def test_a_machine_is_said_with_units():
    machine = Evidence(
        gpus=(
            *(Gpu(index=at, name="NVIDIA H100 80GB HBM3", memory_total_mib=81559) for at in range(7)),
            Gpu(index=7, name="NVIDIA H100 PCIe"),
        ),
        processes=(Process(pid=1), Process(pid=2)),
        cpu=Cpu(model="AMD EPYC 9654", sockets=2, cpus=384, quota_cpus=32.5, flags=("avx2",)),
        memory=HostMemory(total_bytes=2**41, available_bytes=2**40),
        limits=Limits(locked_bytes=-1, open_files=1024),
        looked_for=frozenset({"kernel_log"}),
    )
    assert said(machine) == {
        "GPUs": [("", "7 × NVIDIA H100 80GB HBM3, 79.6 GiB"), ("", "1 × NVIDIA H100 PCIe")],
        "Processes on GPUs": [("", "2")],
        "Processors": [
            ("CPU", "AMD EPYC 9654"), ("CPU sockets", "2"), ("CPUs", "384"), ("CPU limit of the container", "32.50"),
        ],
        "Main memory": [("RAM", "2.00 TiB"), ("available", "1.00 TiB")],
        "Limits of a process": [("locked memory", "unlimited"), ("open files", "1,024")],
    }  # fmt: skip


def test_a_tool_that_is_not_there_is_no_fault():
    absent, refused = ToolFault(kind="absent", wanted="nvidia-smi"), ToolFault(kind="no_permission", wanted="dmesg")
    assert said(Evidence(faults=(absent,))) == {}
    assert said(Evidence(faults=(absent, refused))) == {"Faults of tools": [("", "1")]}


def test_a_section_of_which_nothing_is_for_people_is_left_out():
    assert said(Evidence(cpu=Cpu(flags=("avx2",)))) == {}


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("uptime_s", 7200.0, "2.00 h"),
        ("busy_share", 0.25, "25%"),
        ("clock_max_sm_mhz", 1980, "1,980 MHz"),
        ("temperature_c", -1, "-1 °C"),
        ("name", "a\x1b[31mb", None),
        ("name", None, "–"),
        ("ecc_mode", "Enabled", "Enabled"),
    ],
)
def test_a_value_has_the_unit_of_its_field(field, value, shown):
    text = str(field_value(field, value))
    assert "\x1b" not in text
    assert shown is None or text == shown


@pytest.mark.parametrize("language", Language)
def test_all_that_is_said_has_a_name(language):
    translator = Translator(language)
    named = [f"probe.section.{name}" for name in Evidence.model_fields if name != "looked_for"]
    named += [f"runs.field.{field}" for fields in _FIELDS.values() for field in fields]
    assert [name for name in named if not translator.has(name)] == []
    for reason in ("no_library", "driver_not_loaded", "no_permission", "999"):
        assert translator.text(no_gpus(reason))
    assert translator.text(msg("live.no_gpus.other", reason="999"))
