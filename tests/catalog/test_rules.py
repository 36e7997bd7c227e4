"""Rules of the two guides and known errors: none missing, in both languages, with a verdict and a reason each."""

import csv
import re

import pytest

from gpuplanner.catalog.reading import load_catalog
from gpuplanner.catalog.rules import FACTOR_UNITS, KINDS, PER, VERDICTS, bearing_on
from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.units import GIB

CHINESE = re.compile("[\u4e00-\u9fff]")
# Every statement of the guide to choosing, in its order: sections 1 to 5, then its questions.
SELECTION = """
not-by-name-alone architecture-generation 7b-needs-40gb a100-bandwidth a100-nvlink-600 consumer-pcie-32
virtual-driver-limits rtx4090-24gb rtx4090-330 rtx4090-use rtx4090-rebar a100-80gb-memory a100-780 a100-use
a100-needs-nvlink a100-driver-515 t4-specification t4-use t4-bandwidth v100-125 v100-memory v100-cuda v100-use
consumer-against-data-centre passthrough-loss vgpu-granularity container-driver training-passthrough 16-cores
64-gb-ram nvme-or-parallel rdma swap check-nvidia-smi check-nccl-tests check-nsight virtual-driver-tensor-cores
faq-4090-7b faq-a100-speed faq-t4-stable-diffusion faq-passthrough-lspci faq-nvlink-needed faq-allreduce-30
"""
# Every statement of the guide to the three tiers, in its order: choosing, entry, middle, high, software, questions.
TIERS = """
workload-first workloads-differ rendering-drivers question-parallelism question-memory question-io question-precision
entry entry-cuda-card vcpu-twice-gb ram-four-times entry-example entry-ssd entry-aim check-nvidia-smi middle
middle-24gb headroom-30 middle-pcie5 middle-l3 middle-network-10 middle-disk-500 middle-use high high-nvlink-900
high-memory-pooling high-96-cores high-ecc high-monitoring high-elastic high-stability frameworks-depend check-nvcc
pytorch-cu118 check-is-available mismatch faq-tasks faq-2gb-per-billion faq-total-1.5 faq-nvlink faq-low-utilisation
faq-preinstalled-cuda faq-vgpu faq-pytorch
"""


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(shipped("catalogs"))


@pytest.fixture(scope="module")
def rules(catalog):
    return {rule.id: rule for rule in catalog.rules}


def test_no_statement_of_the_guides_is_missing(rules):
    wanted = [*(f"selection-{name}" for name in SELECTION.split()), *(f"tiers-{name}" for name in TIERS.split())]
    assert [name for name in wanted if name not in rules] == []
    assert len(rules) == len(wanted) + 37


def test_the_three_tiers_are_there(rules):
    assert {rules[f"tiers-{tier}"].kind for tier in ("entry", "middle", "high")} == {"tier"}


def test_every_question_of_the_guides_is_answered(rules):
    """The first guide has five questions, one of them with two claims, the second has seven, one with two."""
    answers = [rule for rule in rules.values() if rule.kind == "answer"]
    assert sum(rule.source.id == "guide-selection" for rule in answers) == 6
    assert sum(rule.source.id == "guide-tiers" for rule in answers) == 8


def test_every_rule_says_everything_in_both_languages(rules):
    for rule in rules.values():
        assert rule.kind in KINDS, rule.id
        assert rule.verdict in VERDICTS, rule.id
        assert rule.bears_on, rule.id
        assert rule.source.citation, rule.id
        for english in (rule.claim_en, rule.reason_en):
            assert not CHINESE.search(english), rule.id
            assert english[-1] in ".?", rule.id
        for chinese in (rule.claim_zh, rule.reason_zh):
            assert CHINESE.search(chinese), rule.id
            assert chinese[-1] in "。？", rule.id
            assert not re.search(r"[;?!]|[\u4e00-\u9fff],|,[\u4e00-\u9fff]", chinese), rule.id


@pytest.mark.parametrize("language", Language)
def test_every_kind_and_verdict_has_a_name_in_both_languages(catalog, language):
    translator = Translator(language)
    for rule in catalog.rules:
        assert translator.has(f"catalog.verdict.{rule.verdict.replace(' ', '_')}"), rule.verdict
        assert translator.has(f"catalog.rule.{rule.kind.replace(' ', '_')}"), rule.kind
    for gpu in catalog.gpus.values():
        for remark in gpu.remarks:
            assert translator.has(f"catalog.remark.{remark.kind.replace('-', '_')}"), remark.kind
            assert CHINESE.search(remark.text_zh), gpu.id
            assert not CHINESE.search(remark.text_en), gpu.id


def test_the_verdicts_of_the_design(rules):
    wanted = {
        "selection-a100-780": "wrong",
        "selection-rtx4090-330": "qualify",
        "selection-v100-125": "qualify",
        "selection-consumer-pcie-32": "qualify",
        "selection-faq-nvlink-needed": "qualify",
        "selection-faq-passthrough-lspci": "wrong",
        "selection-a100-driver-515": "qualify",
        "selection-7b-needs-40gb": "wrong",
        "tiers-faq-total-1.5": "wrong",
        "tiers-headroom-30": "rule of thumb",
        "tiers-vcpu-twice-gb": "contradicts",
        "tiers-entry-example": "contradicts",
        "selection-16-cores": "rule of thumb",
        "selection-64-gb-ram": "rule of thumb",
        "tiers-high-memory-pooling": "wrong",
        "selection-t4-specification": "holds",
        "selection-a100-bandwidth": "holds",
    }
    assert {name: rules[name].verdict for name in wanted} == wanted


def test_rules_name_gpus_of_the_catalog_or_what_their_number_is_for(catalog):
    for rule in catalog.rules:
        assert [name for name in rule.applies_to if name not in catalog.gpus and name not in PER] == [], rule.id


def test_the_number_of_a_rule_is_in_base_units(rules):
    assert rules["selection-16-cores"].factor == 16
    assert rules["selection-64-gb-ram"].factor == 64 * GIB
    assert rules["tiers-ram-four-times"].factor == 4 * GIB
    assert rules["tiers-middle-network-10"].factor == 1.25e9
    assert rules["tiers-middle-disk-500"].factor == 5e8
    assert rules["selection-a100-780"].factor == 780e12
    assert FACTOR_UNITS[""] == 1


def test_the_two_rules_for_vcpus_contradict_each_other(rules):
    twice, example = rules["tiers-vcpu-twice-gb"], rules["tiers-entry-example"]
    assert twice.bears_on == example.bears_on == ("vcpus",)
    assert twice.applies_to == example.applies_to == ("per GB of GPU memory",)
    assert (twice.factor * 8, example.factor * 8) == (16, 4)


def test_only_rules_about_this_gpu_bear_on_its_plan(catalog):
    of_a100 = {rule.id for rule in bearing_on(catalog.rules, {"peak_flops"}, "nvidia-a100-sxm4-80gb")}
    of_t4 = {rule.id for rule in bearing_on(catalog.rules, {"peak_flops"}, "nvidia-t4")}
    assert "selection-a100-780" in of_a100 - of_t4
    assert "selection-t4-specification" in of_t4 - of_a100
    host = {rule.id for rule in bearing_on(catalog.rules, {"vcpus"}, "nvidia-t4")}
    assert {"selection-16-cores", "tiers-vcpu-twice-gb", "tiers-entry-example"} <= host
    assert bearing_on(catalog.rules, {"nothing"}, "nvidia-t4") == ()


def test_nothing_is_copied_from_the_guides(shared_dir, rules):
    """Facts carry over, sentences do not: no claim shares a run of ten Chinese characters with its guide."""
    guides = "".join(path.read_text(encoding="utf-8") for path in (shared_dir / "sources").glob("*.txt"))
    plain = "".join(CHINESE.findall(guides))
    copied = []
    for rule in rules.values():
        claim = "".join(CHINESE.findall(rule.claim_zh))
        copied += [rule.id for at in range(len(claim) - 9) if claim[at : at + 10] in plain][:1]
    assert copied == []


def test_every_known_error_is_one_of_the_file(shared_dir, rules):

    with (shared_dir / "facts" / "catalog_errors.csv").open(encoding="utf-8", newline="") as file:
        listed = list(csv.DictReader(file))
    assert len(listed) == sum(rule.kind == "known error" for rule in rules.values())
