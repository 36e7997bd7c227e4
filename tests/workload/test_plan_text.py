"""Hostile plans: whatever stands in the text, one short sentence says where, and no field takes what cannot be."""

import json
import re
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.workload.field_units import LIMIT_UNITS
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import WORKLOADS, Constraints, MachineChoice, Plan
from gpuplanner.workload.plan_text import parse_json, parse_plan, plan_from_data
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training
from gpuplanner.workload.wizard import asked

ENGLISH = Translator(Language.ENGLISH)
SERVING: dict[str, Any] = {"format": "gpuplan/1", "workload": {"kind": "serving", "model": {"catalog_id": "m"}}}
TRAINING: dict[str, Any] = {"format": "gpuplan/1", "workload": {"kind": "training", "model": {"catalog_id": "m"}}}
GROUPS: dict[str, type[BaseModel]] = {"constraints": Constraints, "machine": MachineChoice}


def numbers_of(model: type[BaseModel]) -> list[str]:
    schema = model.model_json_schema()["properties"]
    kinds = {name: [p.get("type") for p in (field, *field.get("anyOf", ()))] for name, field in schema.items()}
    return [name for name, found in kinds.items() if {"integer", "number"} & set(found)]


NUMBERS = [
    *(("serving", name) for name in numbers_of(Serving)),
    *(("training", name) for name in numbers_of(Training)),
    *((group, name) for group, model in GROUPS.items() for name in numbers_of(model)),
]


def with_number(group: str, name: str, value: str) -> str:
    content = TRAINING if group == "training" else SERVING
    changed = {name: "VALUE"}
    if group in GROUPS:
        content = {**content, group: changed}
    else:
        content = {**content, "workload": {**content["workload"], **changed}}
    return json.dumps(content).replace('"VALUE"', value)


def sentence(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_plan(text, "my.gpuplan")
    said = ENGLISH.text(caught.value.message)
    assert said.isprintable()
    assert len(said) < 500
    return said


@pytest.mark.parametrize(("group", "name"), NUMBERS)
@pytest.mark.parametrize(
    "value",
    ["1e999", "-1e999", "-1", "1e300", "9" * 400, '"NaN"', '"Infinity"', '"x"', '"64"', "true", "false", "[]", "{}"],
)
def test_no_number_of_a_plan_takes_what_cannot_be(group: str, name: str, value: str) -> None:
    assert name in sentence(with_number(group, name, value))


def test_every_number_of_a_plan_was_tried() -> None:
    assert len(NUMBERS) > 30
    assert {"tokens", "deadline_s", "max_gpus", "nodes", "cpu_offload_bytes"} <= {name for _, name in NUMBERS}


def usual_of(kind: type[BaseModel]) -> dict[str, Any]:
    """A workload of a kind, with what it has to say."""
    needed: dict[str, Any] = {"model": {"catalog_id": "m"}, "known_gpu": "nvidia-l4"}
    asked = {n: needed.get(n, 100) for n, info in kind.model_fields.items() if info.is_required()}
    return {"kind": kind.model_fields["kind"].default, **asked}


@pytest.mark.parametrize("kind", WORKLOADS, ids=lambda kind: kind.__name__)
def test_a_place_is_told_as_the_file_has_it_and_a_misspelt_field_by_the_nearest(kind: type[BaseModel]) -> None:
    plan_from_data({"format": "gpuplan/1", "workload": usual_of(kind)}, "my.gpuplan")
    field = next(name for name in reversed(kind.model_fields) if len(name) > 5)
    said = sentence(json.dumps({"format": "gpuplan/1", "workload": {**usual_of(kind), f"{field}s": 1}}))
    assert f"workload → {field}s is not a field" in said
    assert re.search(rf"\b{field}\b", said)


def test_what_has_to_be_a_list_says_so() -> None:
    assert "list of texts in square brackets" in sentence(json.dumps({**SERVING, "constraints": {"providers": 5}}))


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        ({"instance_id": "aws/p5.48xlarge", "gpus": 4}, "say with nodes"),
        ({"gpu_id": "nvidia-l4", "nodes": 2}, "say with gpus"),
        ({"instance_id": "aws/p5.48xlarge", "gpu_id": "nvidia-l4"}, "remove one"),
    ],
)
def test_a_count_that_the_machine_does_not_have_is_refused_and_not_ignored(machine: dict[str, Any], says: str) -> None:
    assert says in sentence(json.dumps({**SERVING, "machine": machine}))


@pytest.mark.parametrize("key", ["k" * 100_000, "\x1b[31mred", "\u202etxt", "\ud800", "a\nb", "{x}{"])
def test_a_hostile_name_of_a_field_stays_short_and_harmless(key: str) -> None:
    sentence(json.dumps({**SERVING, key: 1}))
    sentence(json.dumps({**SERVING, "workload": {**SERVING["workload"], key: {"a": "b" * 100_000}}}))


@pytest.mark.parametrize("version", ["9" * 100_000, "\x1b[31m"])
def test_a_hostile_format_stays_short_and_harmless(version: str) -> None:
    assert "format" in sentence(json.dumps({**SERVING, "format": f"gpuplan/{version}"}))


def test_a_machine_is_rented_or_bare() -> None:
    both = {"instance_id": "aws/p5.48xlarge", "gpu_id": "nvidia-h100-sxm5-80gb"}
    said = sentence(json.dumps({**SERVING, "machine": both}))
    assert "machine" in said
    assert "instance_id" in said


@pytest.mark.parametrize("model", [{}, {"catalog_id": "m", "architecture": {}}])
def test_a_model_is_named_or_read(model: dict[str, Any]) -> None:
    assert "model" in sentence(json.dumps({**SERVING, "workload": {"kind": "serving", "model": model}}))


def test_a_model_that_is_not_given_once_is_said_in_both_languages() -> None:
    with pytest.raises(InputError) as caught:
        plan_from_data({**SERVING, "workload": {"kind": "serving", "model": {}}}, "my.gpuplan")
    assert "catalog_id" in ENGLISH.text(caught.value.message)
    assert "必须二选一" in Translator(Language.CHINESE).text(caught.value.message)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "[" * 100_000, "9" * 5000, '{"a":1,"a":2}', "abc", ""])
def test_json_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_json(text, "x")


def test_a_plan_at_its_limits_is_a_plan() -> None:
    most = {"input_tokens": 10_000_000, "concurrency": 1_000_000, "max_length": 20_000_000, "tensor_parallel": 1024}
    plan = plan_from_data({**SERVING, "workload": {**SERVING["workload"], **most}}, "x")
    assert isinstance(plan, Plan)


KINDS = (*WORKLOADS, Constraints, MachineChoice, Plan, ModelChoice)
TEXTS = [
    (kind, name)
    for kind in KINDS
    for name, info in kind.model_fields.items()
    if {str, tuple[str, ...]} & {info.annotation, *get_args(info.annotation)}
]


@pytest.mark.parametrize(("kind", "name"), TEXTS, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_no_text_of_a_plan_is_half_a_character(kind: type[BaseModel], name: str) -> None:
    for value in ("a\ud800", ["a", "\udfff"], ("\ud800",)):
        with pytest.raises(ValidationError) as caught:
            kind.model_validate({name: value})
        assert any(error["loc"][:1] == (name,) for error in caught.value.errors())


def test_a_text_that_no_file_can_hold_is_said_with_its_field() -> None:
    content = {**SERVING, "constraints": {"regions": ["eu", "\ud83d"]}}
    assert "constraints → regions has a character that no file can hold" in sentence(json.dumps(content))


@pytest.mark.parametrize("name", ["a\0b", "\u202eevil", "a\nb", "\u2066x\u2069", "\x1b[31mred"])
def test_a_name_has_no_controls(name: str) -> None:
    plan = plan_from_data({**SERVING, "name": name}, "x")
    assert plan.name.isprintable()
    assert set("abevilxred") & set(plan.name)


def test_a_whole_number_may_be_written_as_one_with_a_point() -> None:
    plan = plan_from_data({**SERVING, "workload": {**SERVING["workload"], "concurrency": 64.0}}, "x")
    assert isinstance(plan.workload, Serving)
    assert plan.workload.concurrency == 64


def test_a_model_of_which_no_token_uses_an_expert_is_refused() -> None:
    shape = _shape()
    shape["groups"][0]["mlp"] |= {"experts": 65_536, "experts_per_token": 0}
    content = {**SERVING, "workload": {"kind": "serving", "model": {"architecture": shape}}}
    assert "no token uses any" in sentence(json.dumps(content))
    shape["groups"][0]["mlp"] |= {"experts": True}
    sentence(json.dumps({**SERVING, "workload": {"kind": "serving", "model": {"architecture": shape}}}))


def _shape() -> dict[str, Any]:
    attention = {"kind": "full", "heads": 4, "kv_heads": 4, "head_dim": 16, "parameters": 1000}
    group = {"count": 2, "attention": attention, "mlp": {"intermediate": 64, "parameters": 1000}}
    return {"name": "x", "family": "x", "hidden": 64, "vocabulary": 100, "groups": [group]}


@pytest.mark.parametrize(
    ("group", "name", "given", "unit", "meant"),
    [
        ("serving", "host_memory_bytes_per_s", "100 MB/s", "bytes a second", "100000000"),
        ("serving", "acceptance_rate", "70%", "share", "0.7"),
        ("serving", "input_tokens", "20k", "tokens", "20000"),
        ("serving", "tpot_goal_s", "50 ms", "seconds", "0.05"),
        ("constraints", "budget_usd_per_month", "2k", "US dollars", "2000"),
        ("constraints", "gpu_memory_at_least_bytes", "80 GB", "bytes", "80000000000"),
    ],
)
def test_a_number_with_a_unit_is_refused_with_the_unit_of_the_field_and_what_to_write(group, name, given, unit, meant):
    said = sentence(with_number(group, name, json.dumps(given)))
    assert unit in said
    assert f'"{given}"' in said
    assert said.endswith(f"write {meant}.")
    again = with_number(group, name, meant)
    assert isinstance(parse_plan(again, "my.gpuplan"), Plan)


def test_a_text_that_is_no_number_is_refused_with_the_unit_of_the_field():
    assert "bytes a second" in sentence(with_number("serving", "host_memory_bytes_per_s", '"fast"'))


@pytest.mark.parametrize("language", Language)
def test_every_unit_of_a_field_has_a_name_for_files(language):
    units = {note.unit for kind in WORKLOADS for _, _, note in asked(kind) if note.unit} | set(LIMIT_UNITS.values())
    assert all(Translator(language).has(f"plan.in_unit.{unit.name.lower()}") for unit in units)


@pytest.mark.parametrize(
    ("name", "given"),
    [("workers", "true"), ("model", "null"), ("draft_model", '{"a": [1, false]}'), ("server", '"vlm"')],
)
def test_a_value_is_quoted_as_the_file_has_it(name, given):
    content = {**SERVING, "workload": {**SERVING["workload"], name: json.loads(given)}}
    said = sentence(json.dumps(content))
    assert f"(it is {given})" in said
    assert "'" not in said


@pytest.mark.parametrize("depth", [50, 400, 900])
def test_a_deep_value_is_refused_in_a_sentence(depth):
    sentence(with_number("serving", "draft_model", "[" * depth + "]" * depth))
