"""What the commands answer, over the shipped catalog: the fixed shapes, the exit codes, and texts in both languages."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.cli.explain_command import named_figures
from gpuplanner.cli.main import main
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace

PAIR = ["--gpu", "H100 SXM5 80GB", "--gpus", "2"]


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("NVIDIA A100-SXM4-40GB", 0, {"kind": "gpu", "id": "nvidia-a100-sxm4-40gb", "fraction": None}),
        (
            "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
            0,
            {"kind": "gpu", "id": "nvidia-h100-sxm5-80gb", "fraction": {"compute": 1 / 7, "memory": 1 / 8}},
        ),
        ("p5.48xlarge", 0, {"kind": "instance", "fraction": None}),
        ("Qwen2.5-7B", 0, {"kind": "model", "id": "Qwen/Qwen2.5-7B"}),
        ("A100", 1, {"kind": "gpu", "id": None}),
        ("H2000 Ultra", 1, {"id": None}),
    ],
)
def test_resolve_has_its_fixed_shape(
    text: str, code: int, expected: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    given, answer = run_json(capsys, "catalog", "resolve", text)
    assert given == code
    assert set(answer) == {"query", "kind", "id", "name", "fraction", "candidates"}
    assert answer["query"] == text
    assert {
        key: pytest.approx(answer[key]) if key == "fraction" and answer[key] else answer[key] for key in expected
    } == expected
    if code:
        assert answer["candidates"]


def test_search_finds_by_chinese_and_by_english(capsys: pytest.CaptureFixture[str]) -> None:
    for query in ("H100", "英伟达 H100"):
        code, hits = run_json(capsys, "catalog", "search", query, "--kind", "gpu")
        assert code == 0
        assert any("h100" in hit["id"] for hit in hits)
    assert main(["catalog", "search", "zzzzqqq"]) == 1
    assert "zzzzqqq" in capsys.readouterr().out


def test_show_says_basis_source_and_date_of_each_fact(capsys: pytest.CaptureFixture[str]) -> None:
    code, entry = run_json(capsys, "catalog", "show", "A100 SXM4 80GB")
    assert code == 0
    dense = entry["facts"]["bf16_flop_per_s"][0]
    assert dense["value"] == 312e12
    assert "dense" in dense["basis"]
    assert dense["source"]
    assert any("780" in remark["en"] for remark in entry["remarks"])
    assert main(["catalog", "show", "A100 SXM4 80GB", "--lang", "zh"]) == 0
    assert "稠密" in capsys.readouterr().out


def test_estimate_gives_a_verdict_with_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = run_json(capsys, "estimate", "chat-70b", *PAIR)
    assert code == 0
    assert answer["fit"] == "fits"
    assert answer["machine"]["usd_per_hour"] is None
    tpot = answer["metrics"]["tpot_s"]
    assert tpot["low"] < tpot["value"] < tpot["high"]
    assert tpot["certainty"] == "calibrated"
    assert sum(limit["share"] for limit in answer["limits"]) == pytest.approx(1)
    assert {"rule": "tiers-headroom-30", "verdict": "rule of thumb"} in answer["advice"]


def test_what_does_not_fit_is_exit_code_1_with_changes_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = run_json(capsys, "estimate", "chat-70b", "--gpu", "RTX 4090")
    assert code == 1
    assert answer["fit"] == "does not fit"
    assert answer["changes"]
    assert all(change["fit"] in {"fits", "tight"} for change in answer["changes"])


@pytest.mark.parametrize(
    ("text", "kind", "expected"), [("", (), "gpu"), ("?", (), "gpu"), ("", ("--kind", "model"), "model")]
)
def test_what_tells_nothing_of_its_kind_is_taken_for_a_gpu(
    text: str, kind: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, answer = run_json(capsys, "catalog", "resolve", text, *kind)
    assert (code, answer["kind"], answer["id"]) == (1, expected, None)


@pytest.mark.parametrize("preset", ["chat-70b", "qlora-8b"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_estimates_read_in_both_languages(preset: str, language: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", preset, *PAIR, "--lang", language]) == 0
    out = capsys.readouterr().out
    assert ("可用" in out) if language == "zh" else ("usable" in out)


@pytest.mark.parametrize("preset", ["chat-8b", "moe-deepseek", "pretrain-7b", "lora-70b"])
def test_every_figure_of_an_estimate_has_a_derivation(preset: str, user_home: Path) -> None:
    workspace = Workspace(user_home)
    machine = MachineChoice(gpu_id="nvidia-h200-sxm-141gb", gpus=8)
    plan = workspace.presets[preset].model_copy(update={"machine": machine})
    for name, figure in named_figures(workspace.explained(plan)):
        assert figure.low <= figure.value <= figure.high, name
        assert figure.derivation or figure.exact, name


def test_explain_lists_the_figures_and_refuses_others(capsys: pytest.CaptureFixture[str]) -> None:
    code, figures = run_json(capsys, "explain", "chat-8b", "--gpu", "L40S")
    assert code == 0
    assert {"tpot_s", "memory.needed", "time.weights_read", "host.ram"} <= set(figures)
    assert main(["explain", "chat-8b", "tpot", "--gpu", "L40S"]) == 2
    assert "tpot_s" in capsys.readouterr().err


def test_an_explanation_names_formula_inputs_and_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "chat-70b", "tpot_s", *PAIR, "--depth", "9"]) == 0
    out = capsys.readouterr().out
    assert "3.350 TB/s" in out
    assert "=" in out


def test_an_explanation_stops_at_the_depth_asked_for_and_says_what_is_deeper(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def lines(depth: str) -> list[str]:
        assert main(["explain", "chat-70b", "tpot_s", *PAIR, "--depth", depth]) == 0
        return capsys.readouterr().out.splitlines()

    short, whole = lines("1"), lines("99")
    assert len(short) < 20 < len(whole)
    assert "--depth 3" in short[-1]
    assert not any("--depth" in line for line in whole)
    equations = [line for line in whole if " = " in line]
    assert not [line for line in equations if "hbm_bytes_per_s" in line or "prefill_share_s" in line]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_rule_comes_with_our_verdict(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "search", "显存", "--lang", language]) == 0
    found = capsys.readouterr().out
    assert ("矛盾" if language == "zh" else "[Contradicts") in found
    assert main(["catalog", "show", "tiers-vcpu-twice-gb", "--lang", language]) == 0
    assert ("矛盾" if language == "zh" else "Contradicts") in capsys.readouterr().out
    _, rule = run_json(capsys, "catalog", "show", "tiers-vcpu-twice-gb")
    assert rule["verdict"] == "contradicts"


def test_a_slice_of_a_gpu_is_not_ranked_as_a_whole_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recommend", "laptop-8b", "--limit", "500"]) == 0
    out = capsys.readouterr().out
    assert "g4-standard-6 (1 × 1/8 RTX PRO 6000" in out
    assert "cheapest first" in out


def test_recommend_ranks_and_says_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = run_json(capsys, "recommend", "chat-70b", "--limit", "500")
    assert code == 0
    costs = [c["machine"]["usd_per_hour"] for c in answer["candidates"] if c["machine"]["usd_per_hour"] is not None]
    assert costs == sorted(costs)
    assert all(r["reason"]["text"] and r["broken"] for r in answer["rejections"])
    nothing = ["--set", "constraints.budget_usd_per_month=1"]
    assert main(["recommend", "chat-70b", *nothing]) == 1
    assert "budget" in capsys.readouterr().out.lower()


def test_flags_change_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    _, few = run_json(capsys, "estimate", "chat-8b", "--gpu", "L4", "--set", "concurrency=1")
    _, many = run_json(capsys, "estimate", "chat-8b", "--gpu", "L4", "--set", "concurrency=16")
    assert few["metrics"]["tpot_s"]["value"] < many["metrics"]["tpot_s"]["value"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--gpu", "A100"], "A100"),
        (["--gpu", "no such card"], "no such card"),
        (["--machine", "nosuch.large"], "nosuch.large"),
        (["--model", "gpt-17"], "gpt-17"),
        (["--machine", "p5.48xlarge", "--gpus", "2"], "machine.nodes"),
        (["--set", "concurrency"], "FIELD=VALUE"),
        (["--set", "concurrency=-4"], "concurrency"),
        (["--set", "a.b.c=1"], "a.b.c"),
        (["--gpus", "3"], "--gpu"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "chat-8b", *arguments]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.err.strip().count("\n") == 0


def test_validate_keeps_every_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = (
        "id,model,gpu,n_gpu,util,max_len,need_gib,avail_gib,tokens,est_max_len,kv_bytes_per_token_per_gpu,arch(memory)"
    )
    rows = ["a,Llama-3.1-8B,RTX 3090 24GB,1,0.9,20000,,3.81,31232,,131072,", "b,NoSuchModel,,,,,,,,,77,", "c,too,short"]
    path = tmp_path / "pools.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    code, answer = run_json(capsys, "validate", str(path))
    assert code == 0
    keys = {"file", "id", "metric", "measured", "predicted", "low", "high", "rung", "refused"}
    assert all(set(row) == keys for row in answer["rows"])
    by_id = {row["id"]: row for row in answer["rows"] if row["metric"] == "kv_bytes_per_token_per_gpu"}
    assert by_id["a"]["predicted"] == 131072
    assert by_id["b"]["refused"]
    assert {row["id"] for row in answer["rows"]} >= {"a", "b", "c"}


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\xff\xfe\x00", b'id,"unclosed\n1,2'])
def test_a_file_that_is_no_measurements_is_one_sentence(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    assert main(["validate", str(path)]) == 2
    said = capsys.readouterr().err
    assert "x.csv" in said
    assert said.count("\n") == 1


def test_validation_of_all_public_measurements(shared_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((shared_dir / "validation").glob("*.csv"))
    code, answer = run_json(capsys, "validate", *map(str, files))
    assert code == 0
    told = {(row["file"], row["id"]) for row in answer["rows"]}
    for file in files:
        for number, row in enumerate(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"))), start=2):
            assert (file.name, row.get("id") or str(number)) in told


def test_a_price_says_where_and_when_it_holds_or_that_nobody_says(
    user_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = Workspace(user_home).catalog
    priced = [i for i in catalog.instances.values() if i.prices]
    for lacks, says in (("region", "region not stated"), ("date", "date not stated")):
        instance = next(i for i in priced if not getattr(i.prices[0], lacks))
        assert main(["catalog", "show", instance.id, "--kind", "instance", "--lang", "en"]) == 0
        assert says in capsys.readouterr().out
        _, entry = run_json(capsys, "catalog", "show", instance.id, "--kind", "instance")
        assert entry["prices"][0][lacks] is None
        assert all(price[name] != "" for price in entry["prices"] for name in ("region", "date"))


def test_a_fact_of_an_undated_source_has_the_day_on_which_it_was_read(
    user_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = Workspace(user_home).catalog
    gpu = next(
        g
        for g in catalog.gpus.values()
        for known in g.properties.values()
        if not known.fact.source.date and known.fact.source.accessed
    )
    read = next(k.fact.source.accessed for k in gpu.properties.values() if not k.fact.source.date)
    assert main(["catalog", "show", gpu.id, "--lang", "en"]) == 0
    assert f"taken over {read}" in capsys.readouterr().out


def test_a_name_that_fits_several_leaves_alike_from_show_and_resolve(capsys):
    assert main(["catalog", "show", "A100"]) == main(["catalog", "resolve", "A100"]) == 1
    assert main(["catalog", "show", "no such thing at all"]) == 1
    capsys.readouterr()
