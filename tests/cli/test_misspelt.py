"""A misspelt name is answered with the nearest ones first; that more can be added comes after."""

import json
import re

import pytest

from gpuplanner.cli.main import main

HAN = re.compile(r"[\u4e00-\u9fff]")
ESTIMATE = ("estimate", "chat-8b", "--gpu", "L4")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (("estimate", "chat-8b", "--gpu", "H10O"), "H100 SXM5 80GB"),
        (("estimate", "chat-8b", "--gpu", "L4OS"), "L40S"),
        (("estimate", "chat-8b", "--machine", "p5.48xlrge"), "p5.48xlarge"),
        (("estimate", "chat-8b", "--model", "Qwen2.5-7b-instuct"), "Qwen2.5-7B"),
        (("catalog", "show", "A10O 80GB"), "A100"),
        (("estimate", "chat-70"), "chat-70b"),
        (("estimate", "nosuch"), "chat-8b"),
        (("explain", "chat-8b", "tpots", "--gpu", "L4"), "tpot_s"),
        (("presets", "chat70b"), "chat-70b"),
        ((*ESTIMATE, "--set", "concurency=3"), "concurrency"),
        ((*ESTIMATE, "--set", "constraints.budget=3"), "budget_usd_per_month"),
        ((*ESTIMATE, "--set", "constraint.max_gpus=3"), "constraints"),
        ((*ESTIMATE, "--set", "server=vlm"), "vllm"),
        ((*ESTIMATE, "--set", "workload.kind=trainin"), "training"),
        ((*ESTIMATE, "--set", "model.catalog_id=Qwen2.5-7B"), "Qwen/Qwen2.5-7B"),
        (("estimate", "chat-8b", "--set", "machine.gpu_id=h100"), "nvidia-h100-sxm5-80gb"),
        (("estimate", "chat-8b", "--set", "machine.instance_id=aws/p5.48xlrge"), "aws/p5.48xlarge"),
        (("recommend", "chat-8b", "--set", 'constraints.gpus=["h100"]'), "nvidia-h100-sxm5-80gb"),
        (("recommend", "chat-8b", "--set", 'constraints.providers=["aws"]'), "AWS"),
        (("recommend", "chat-8b", "--set", 'constraints.regions=["us-est-1"]'), "us-east-1"),
        (("explain", "chat-8b", "tpot", "--gpu", "L4"), "tpot_s"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_nearest_come_first(arguments, near, language, capsys):
    # A look-up that finds nothing is answered; anything else cannot go on without the name.
    assert main([*arguments, "--lang", language]) == (1 if arguments[0] == "catalog" else 2)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert bool(HAN.search(said.err)) == (language == "zh")
    assert near in said.err
    overlay = re.search("overlay|自定义目录", said.err)
    assert overlay is None or said.err.index(near) < overlay.start()


def test_a_search_that_finds_nothing_offers_the_nearest(capsys):
    assert main(["catalog", "search", "H10O"]) == 1
    assert "nvidia-h100-sxm5-80gb" in capsys.readouterr().out


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("change", "message_id"),
    [
        ("notes.x=1", "cli.set_no_group"),
        ("name.x.y=1", "cli.set_no_group"),
        ("workload.kind=training", "cli.set_kind"),
        ("kind=by-hand", "cli.set_kind"),
        ("=1", "cli.set_without_field"),
        ("concurrency=", "cli.set_empty"),
        (f"input_tokens={'9' * 5000}", "plan.number_too_long"),
        ("concurrency=true", "plan.bad_field"),
        ('concurrency="64"', "plan.bad_field"),
        ("memory_utilisation=1e-300", "plan.bad_field"),
    ],
)
def test_what_cannot_be_set_is_said_for_what_it_is(change, message_id, language, capsys):
    assert main([*ESTIMATE, "--set", change, "--lang", language, "--json"]) == 2
    said = json.loads(capsys.readouterr().out)["error"]
    assert said["id"] == message_id
    assert len(said["message"]) < 300


@pytest.mark.parametrize(("count", "taken"), [("1000000", True), ("1000001", False), ("0", False)])
def test_gpus_are_counted_as_far_as_a_plan_can_name_them(count, taken, capsys):
    main(["estimate", "chat-8b", "--gpu", "L4", "--gpus", count])
    said = capsys.readouterr().err
    assert ("1,000,000" in said) is not taken
