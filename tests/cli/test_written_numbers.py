"""Numbers as figures print them are taken by `--set`; the refusal of others names the unit of the field."""

import json
from typing import Any

import pytest

from gpuplanner.cli.main import main
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.quantities import written
from gpuplanner.units import Display, Unit, show
from gpuplanner.workload.plan import WORKLOADS, Constraints
from gpuplanner.workload.wizard import asked

FIELDS = [(kind, name, info, note) for kind in WORKLOADS for name, info, note in asked(kind)]


@pytest.mark.parametrize(
    ("preset", "field", "given", "value"),
    [
        ("train-resnet50", "storage_bytes_per_s", "100 MB/s", 1e8),
        ("chat-8b", "acceptance_rate", "70%", 0.7),
        ("chat-8b", "acceptance_rate", "70 %", 0.7),
        ("chat-8b", "input_tokens", "20k", 20_000),
        ("chat-8b", "max_length", "20,000 tokens", 20_000),
        ("chat-8b", "tpot_goal_s", "50 ms", 0.05),
        ("chat-8b", "cpu_offload_bytes", "8 GiB", 2.0**33),
        ("chat-8b", "constraints.gpu_memory_at_least_bytes", "80 GB", 8e10),
        ("chat-8b", "constraints.memory_free_share", "7%", 0.07),
    ],
)
def test_a_printed_unit_is_taken(user_home, capsys, monkeypatch, preset, field, given, value):
    from gpuplanner.cli import plan_arguments

    content: dict[str, Any] = {"workload": {"kind": "serving"}, "constraints": {}}
    if preset != "chat-8b":
        content["workload"]["kind"] = "vision"
    names = field.split(".")
    plan_arguments._set(content, f"{field if len(names) > 1 else f'workload.{field}'}={given}")
    group = content["constraints"] if len(names) > 1 else content["workload"]
    assert group[names[-1]] == value
    assert type(group[names[-1]]) is type(value)


@pytest.mark.parametrize(
    ("change", "unit"),
    [
        ("host_memory_bytes_per_s=100 apples", "bytes a second"),
        ("acceptance_rate=often", "percentage"),
        ("input_tokens=1 GiB", "tokens"),
        ("constraints.budget_usd_per_month=lots", "US dollars"),
    ],
)
def test_a_refusal_names_the_unit(user_home, capsys, change, unit):
    assert main(["--lang", "en", "estimate", "chat-8b", "--gpu", "L4", "--set", change]) == 2
    said = capsys.readouterr().err
    assert unit in said
    assert change.partition("=")[0].split(".")[-1] in said


def test_it_comes_to_the_same_as_the_base_unit(user_home, capsys):
    figures = []
    for given in ("0.05", "50 ms", "50ms"):
        main(["estimate", "chat-8b", "--gpu", "L4", "--set", f"tpot_goal_s={given}", "--json"])
        figures.append(json.loads(capsys.readouterr().out))
    assert figures[0] == figures[1] == figures[2]


@pytest.mark.parametrize("unit", sorted({note.unit for *_, note in FIELDS if note.unit}))
@pytest.mark.parametrize("value", [0.25, 3.0, 2500.0, 7e9])
def test_what_is_printed_of_a_field_is_read_again(unit, value):
    if unit is Unit.RATIO and value > 1:
        return
    shown = show(value, unit, Display())
    if not shown.unit or unit is Unit.MONEY:
        return
    assert written(str(shown), unit) == pytest.approx(value, rel=6e-3)


@pytest.mark.parametrize("language", Language)
def test_every_unit_of_a_field_has_a_name(language):
    units = {note.unit for _, _, info, note in FIELDS if note.unit} | {Unit.COUNT, Unit.MONEY, Unit.BYTE}
    assert all(Translator(language).has(f"cli.number_in.{unit.name.lower()}") for unit in units)


def test_the_limits_of_a_plan_that_are_numbers_have_a_unit():
    from gpuplanner.workload.field_units import LIMIT_UNITS

    numbers = {n for n, i in Constraints.model_fields.items() if {"int", "float"} & set(str(i.annotation).split(" | "))}
    plain = {n for n, i in Constraints.model_fields.items() if i.annotation in {int, float}}
    assert numbers | plain <= set(LIMIT_UNITS)


@pytest.mark.parametrize("given", ["1 GB", "12", "words", "nan ms"])
def test_what_is_no_number_of_a_unit_is_none(given):
    assert written(given, Unit.SECOND) is None


def test_a_word_that_is_no_number_stays_a_word():
    from gpuplanner.cli.written_numbers import number_of

    assert number_of("vllm", ["workload", "server"], "serving") == "vllm"
    with pytest.raises(InputError):
        number_of("vllm", ["workload", "input_tokens"], "serving")
