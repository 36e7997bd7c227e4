"""`recommend`: GPUs to buy, limits to GPUs and to their memory, and what is said where no offer has them."""

import json
import re

import pytest

from gpuplanner.cli.main import main


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["recommend", "chat-8b", *arguments])
    said = capsys.readouterr()
    return code, said.out + said.err


BARE = ("--set", "constraints.bare_gpus=true")


def test_gpus_to_buy_are_not_called_cheapest_first(capsys):
    code, out = answer(capsys, *BARE, "--limit", "3")
    assert code == 0
    assert "cheapest" not in out
    assert "fewest GPUs first" in out
    assert "rented machines are left out" in out
    assert re.findall(r"^. +(\d+) × ", out, re.MULTILINE) == ["1", "1", "1"]


def test_the_count_of_gpus_to_buy_is_of_gpus_to_buy(capsys):
    _, out = answer(capsys, *BARE, "--json")
    found = json.loads(out)
    offers = [*found["candidates"], *found["rejections"]]
    assert not any(offer.get("instance") for offer in offers)
    _, shown = answer(capsys, *BARE, "--limit", "1")
    counted = re.match(r"([\d,]+) of ([\d,]+) choices", shown)
    assert counted
    carried, of = (int(number.replace(",", "")) for number in counted.groups())
    assert of - carried == len(found["rejections"])


def test_nodes_of_bought_gpus_are_told_apart(capsys):
    plan = ("--gpu", "RTX 4090", "--gpus", "16", "--set", "machine.per_node=8")
    assert main(["estimate", "chat-8b", *plan]) in {0, 1}
    assert "2 nodes of 8 × GeForce RTX 4090" in capsys.readouterr().out


def test_a_gpu_that_no_offer_has_is_said_and_no_other_is_near(capsys):
    code, out = answer(capsys, "--set", "constraints.gpus=RTX 4090")
    assert code == 1
    assert "No offer of the catalog has GeForce RTX 4090" in out
    assert "constraints.bare_gpus=true" in out
    assert "came near" in out
    assert "A10" not in out
    code, out = answer(capsys, "--set", 'constraints.gpus=["RTX 4090"]', *BARE, "--limit", "2")
    assert code == 0
    assert "No offer" not in out
    assert "× GeForce RTX 4090" in out


def test_what_is_near_is_of_the_chosen_gpus(capsys):
    limits = ("--set", "constraints.gpus=L4", "--set", "constraints.budget_usd_per_month=1")
    code, out = answer(capsys, *limits)
    assert code == 1
    near = out.partition("Why not")[2].strip().splitlines()
    assert near
    assert all("over the budget" in line or "memory" in line or "Time" in line or "price" in line for line in near)
    assert not any("Not one of the chosen" in line for line in near)


def test_memory_of_one_gpu_can_be_limited_to_that_of_a_card(capsys):
    sizes = ("gpu_memory_at_least_bytes=24e9", "gpu_memory_at_most_bytes=24e9")
    code, out = answer(capsys, *(word for size in sizes for word in ("--set", f"constraints.{size}")), "--limit", "50")
    assert code == 0
    named = set(re.findall(r"\(\d+ × ([^)]*)\)", out.partition("\n\n")[2]))
    cards = {name for name in named if "GB" not in name and "/" not in name}
    assert cards <= {"L4", "A10", "A10G", "RTX A5000", "GeForce RTX 4090", "GeForce RTX 3090", "Quadro RTX 6000", "A30"}
    assert "L4" in cards


@pytest.mark.parametrize(("given", "meant"), [("max_gpus=1", "constraints.max_gpus=1"), ("nodes=2", "machine.nodes=2")])
def test_a_field_of_another_part_is_named_with_its_part(capsys, given, meant):
    code, out = answer(capsys, "--set", given)
    assert code == 2
    assert f"--set {meant}" in out
    assert out.count("\n") == 1


def test_a_figure_may_stand_behind_the_options(capsys):
    first = main(["explain", "chat-8b", "memory.needed", "--gpu", "L4", "--set", "concurrency=2"])
    before = capsys.readouterr().out
    last = main(["explain", "chat-8b", "--gpu", "L4", "--set", "concurrency=2", "memory.needed"])
    assert (first, last) == (0, 0)
    assert capsys.readouterr().out == before


def test_each_price_says_of_when_it_is(capsys):
    _, out = answer(capsys, "--limit", "40")
    table = out.split("\n\n")[1].splitlines()[1:]  # below the table stands what its marks mean
    head, *rows = [line for line in table if line.startswith(("   ", "✓", "!"))]
    assert head.rstrip().endswith("Price from")
    assert rows
    ends = [
        re.search(r"(–|date not stated|\d{4}(-\d\d){0,2}(, \d+ (months|years) old)?)$", row.rstrip()) for row in rows
    ]
    assert all(ends)
    assert any(end is not None and "old" in end[0] for end in ends)


def test_a_measured_run_is_marked(capsys, project_root):
    log = project_root / "tests" / "data" / "own" / "vllm_bench.json"
    assert main(["calibrate", str(log), "chat-8b", "--gpu", "H100 SXM5 80GB"]) == 0
    capsys.readouterr()
    own = ("--set", "constraints.gpus=H100 SXM5 80GB", "--limit", "40")
    code, out = answer(capsys, *own)
    assert code == 0
    assert "measured by you" in out
    _, without = answer(capsys, *own, "--no-own-measurements")
    assert "measured by you" not in without
    _, data = answer(capsys, *own, "--json")
    marked = [c for c in json.loads(data)["candidates"] if c["own_measurement"]]
    assert {c["own_measurement"]["file"] for c in marked} == {"vllm_bench.json"}
    assert all(c["ranges"]["tpot_s"]["low"] < c["metrics"]["tpot_s"] < c["ranges"]["tpot_s"]["high"] for c in marked)
