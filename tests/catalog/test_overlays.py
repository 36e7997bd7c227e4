"""A person's own files over the catalog: what is right counts, what is wrong is said with file, line and field."""

import gc
import time
from datetime import date
from fractions import Fraction

import pytest

from gpuplanner.catalog.entries import GpuProperty, InstanceProperty, PriceKind
from gpuplanner.catalog.overlays import MOST_PROBLEMS, overlay_files, with_overlays
from gpuplanner.catalog.problems import Severity
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.units import GIB, MIB

P = GpuProperty
SIX_FIELDS = """\
gpus:
  - name: Example 100
    vendor: Example
    memory_gb: 64
    memory_bandwidth_gb_per_s: 2000
    bf16_tflops: 400
    power_w: 500
"""
LLAMA = """\
    config: {model_type: llama, hidden_size: 4096, num_hidden_layers: 32, num_attention_heads: 32,
      intermediate_size: 11008, vocab_size: 32000}
"""


@pytest.fixture(scope="module")
def base():
    return load_catalog(shipped("catalogs"))


@pytest.fixture
def load(tmp_path, base):
    def read(content, name="own.yaml"):
        (tmp_path / name).write_text(content, encoding="utf-8")
        return with_overlays(base, overlay_files(tmp_path))

    return read


def said(catalog, language=Language.ENGLISH):
    translator = Translator(language)
    return [translator.text(problem.message) for problem in catalog.problems]


def told(catalog):
    return [(p.line, p.field, p.what.id) for p in catalog.problems]


def test_six_fields_are_a_gpu(load):
    catalog = load(SIX_FIELDS)
    assert said(catalog) == []
    gpu = catalog.gpus["example-example-100"]
    assert gpu.user
    assert gpu.value(P.MEMORY_BYTES) == 64 * GIB
    assert gpu.value(P.HBM_BYTES_PER_S) == 2e12
    assert gpu.value(P.BF16_FLOP_PER_S) == 4e14
    assert gpu.value(P.POWER_W) == 500
    source = gpu.known(P.BF16_FLOP_PER_S).fact.source
    assert (source.citation, source.user) == ("own.yaml", True)
    assert gpu.known(P.FP8_FLOP_PER_S) is None


def test_a_gpu_can_be_a_row_of_a_table(load):
    catalog = load(
        "name,vendor,memory_gb,memory_bandwidth_gb_per_s,bf16_tflops,power_w\nExample 100,Example,64,2000,400,500\n",
        "gpus.csv",
    )
    assert said(catalog) == []
    assert catalog.gpus["example-example-100"].value(P.POWER_W) == 500


@pytest.mark.parametrize("missing", ["name", "vendor", "memory_gb", "memory_bandwidth_gb_per_s"])
def test_a_new_gpu_without_what_planning_needs_is_told_by_the_field(load, missing):
    lines = [line for line in SIX_FIELDS.splitlines() if not line.strip(" -").startswith(f"{missing}:")]
    if missing == "name":
        lines[1] = "  - vendor: Example"
    catalog = load("\n".join(lines))
    [problem] = catalog.problems
    assert problem.field == missing
    assert problem.line == 2
    assert len(catalog.gpus) == 171


@pytest.mark.parametrize("language", Language)
def test_limits_of_a_field_are_written_as_figures_are(load, language):
    catalog = load(SIX_FIELDS.replace("memory_gb: 64", "memory_gb: 99999999"))
    [sentence] = said(catalog, language)
    assert "2,000" in sentence


def test_a_fault_names_file_line_and_field_in_both_languages(load):
    catalog = load(SIX_FIELDS.replace("memory_gb: 64", "memory_gb: eighty"))
    assert said(catalog) == [
        (
            'own.yaml, line 4, memory_gb: "eighty" is not a number. '
            "Write digits only; the unit is in the name of the field."
        )
    ]
    [chinese] = said(catalog, Language.CHINESE)
    assert chinese.startswith("own.yaml 第 4 行，字段 memory_gb：")


@pytest.mark.parametrize("value", ["nan", ".inf", "-1", "0", "1e9", "[1, 2]", "{a: 1}", "64 GB", "=2*3"])
def test_a_value_that_cannot_be_is_told(load, value):
    catalog = load(SIX_FIELDS.replace("memory_gb: 64", f"memory_gb: {value}"))
    assert [(line, field) for line, field, _ in told(catalog)] == [(4, "memory_gb")]
    assert "example-example-100" not in catalog.gpus


def test_a_bad_entry_hides_no_good_one(load, base):
    catalog = load(SIX_FIELDS + "  - name: Other\n    vendor: Example\n    memory_gb: x\n  - just a text\n")
    assert "example-example-100" in catalog.gpus
    assert [(p.line, p.field) for p in catalog.problems] == [(1, "gpus"), (10, "memory_gb")]
    assert len(catalog.instances) == len(base.instances)


def test_a_bad_file_hides_no_good_one(load, tmp_path, base):
    (tmp_path / "broken.yaml").write_bytes(b"gpus: [\n")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    (tmp_path / "ignored.txt").write_text("gpus: [")
    catalog = load(SIX_FIELDS)
    assert "example-example-100" in catalog.gpus
    assert {p.file for p in catalog.problems} == {"broken.yaml", "binary.csv"}
    assert len(catalog.gpus) == len(base.gpus) + 1


def test_a_misspelt_field_is_told_with_what_was_meant(load):
    catalog = load(SIX_FIELDS.replace("power_w", "powerw"))
    assert said(catalog) == ["own.yaml, line 7, powerw: this field has no meaning here. Did you mean power_w?"]


def test_a_gpu_of_the_catalog_keeps_all_facts_behind_ones_own(load, base):
    catalog = load("gpus:\n  - {name: H100 SXM5 80GB, vendor: NVIDIA, memory_usable_mib: 80000, power_w: 650}\n")
    assert said(catalog) == []
    gpu, before = catalog.gpus["nvidia-h100-sxm5-80gb"], base.gpus["nvidia-h100-sxm5-80gb"]
    assert gpu.value(P.MEMORY_USABLE_BYTES) == 80000 * MIB
    assert gpu.value(P.POWER_W) == 650
    assert before.known(P.POWER_W).fact in gpu.known(P.POWER_W).others
    assert gpu.known(P.POWER_W).disputed
    assert gpu.value(P.BF16_FLOP_PER_S) == before.value(P.BF16_FLOP_PER_S)
    assert gpu.remarks == before.remarks
    assert set(before.aliases) <= set(gpu.aliases)


def test_a_gpu_with_another_vendor_is_not_that_of_the_catalog(load):
    catalog = load("gpus:\n  - {name: H100 SXM5 80GB, vendor: AMD, power_w: 650}\n")
    assert told(catalog) == [(2, "vendor", "overlay.gpu.vendor")]
    assert not catalog.gpus["nvidia-h100-sxm5-80gb"].user


def test_statements_have_their_own_source_basis_and_note(load):
    catalog = load(
        SIX_FIELDS
        + "    link: XLink\n    also:\n"
        + "      - {source: Datasheet 1.2, basis: [sparse], bf16_tflops: 800}\n"
        + "      - {source: epoch, link_both_ways_gb_per_s: 800, note: four links, note_zh: 四条链路}\n"
    )
    assert said(catalog) == []
    gpu = catalog.gpus["example-example-100"]
    [sparse] = gpu.known(P.BF16_FLOP_PER_S).others
    assert (sparse.value, sparse.source.citation, sparse.source.user) == (8e14, "Datasheet 1.2", True)
    link = gpu.known(P.LINK_BYTES_PER_S)
    assert (link.value, link.others[0].value, link.fact.note) == (4e11, 8e11, "four links")
    assert link.fact.source.citation.startswith("Epoch AI")


def test_a_sparse_figure_alone_is_no_plain_figure(load):
    content = SIX_FIELDS.replace("    bf16_tflops: 400\n", "") + "    also: [{basis: [sparse], bf16_tflops: 800}]\n"
    assert load(content).gpus["example-example-100"].known(P.BF16_FLOP_PER_S) is None


def test_an_unknown_basis_is_told(load):
    catalog = load(SIX_FIELDS + "    also: [{basis: [sparce], bf16_tflops: 800}]\n")
    assert told(catalog) == [(8, "basis", "overlay.value.unknown_basis")]


def test_a_doubled_rate_is_told_and_taken_over(load):
    catalog = load(SIX_FIELDS.replace("bf16_tflops: 400", "bf16_tflops: 1979\n    architecture: Hopper"))
    [problem] = catalog.problems
    assert (problem.line, problem.field, problem.what.id) == (6, "bf16_tflops", "overlay.rate.doubled")
    assert problem.severity is Severity.WARNING
    assert "example-example-100" in catalog.gpus


PRICES = """\
provider,name,gpu,gpu_count,vcpus,ram_gib,price_per_hour,currency,region,price_date
Acme,one,H100 SXM5 80GB,1,24,200,3,USD,eu,2026-09-01
Acme,eight,H100 SXM5 80GB,8,192,1600,23,USD,eu,2026-09-01
"""


def test_a_price_list_adds_instances(load):
    catalog = load(PRICES, "acme.csv")
    assert said(catalog) == []
    eight = catalog.instances["acme/eight"]
    assert (eight.gpu_id, eight.gpu_count, eight.gpu_fraction) == ("nvidia-h100-sxm5-80gb", 8, Fraction(1))
    assert eight.value(InstanceProperty.RAM_BYTES) == 1600 * GIB
    price = eight.price()
    assert (price.per_hour, price.currency, price.region, price.date) == (23, "USD", "eu", "2026-09-01")
    assert (price.source.citation, price.source.user, price.source.date) == ("acme.csv", True, "2026-09-01")
    assert eight.user


def test_a_price_for_an_instance_of_the_catalog_stands_before_the_published_one(load, base):
    catalog = load(
        "provider,name,price_per_hour,currency,region,price_date\n"
        "aws,P5.48xlarge,20,USD,us-east-1,2026-09-01\n"
        "Alibaba Cloud,ecs.gn7i-c8g1.2xlarge,8,CNY,cn-beijing,2026-09-01\n",
        "ours.csv",
    )
    assert said(catalog) == []
    assert len(catalog.instances) == len(base.instances)
    p5 = catalog.instances["aws/p5.48xlarge"]
    assert [p.per_hour for p in p5.prices] == [20, base.instances["aws/p5.48xlarge"].price().per_hour]
    assert p5.gpu_id == "nvidia-h100-sxm5-80gb"
    assert catalog.instances["alibaba/ecs.gn7i-c8g1.2xlarge"].price().per_hour == 8


def test_quoted_spot_and_monthly_prices_are_told_apart(load):
    catalog = load(
        "provider,name,gpu,gpu_count,quoted_per_hour,spot_per_hour,price_per_month,currency\nAcme,a,L40S,1,2,1,730,EUR\n",
        "q.csv",
    )
    instance = catalog.instances["acme/a"]
    assert {p.kind: p.per_hour for p in instance.prices} == {
        PriceKind.QUOTED: 2, PriceKind.SPOT: 1, PriceKind.MONTHLY: 1,
    }  # fmt: skip


def test_regions_of_one_instance_are_prices_and_other_sizes_are_other_instances(load):
    catalog = load(
        "provider,name,gpu,gpu_count,ram_gib,price_per_hour,currency,region\n"
        "Acme,a,L40S,1,100,2,USD,eu\nAcme,a,L40S,1,100,3,USD,us\nAcme,a,L40S,1,50,1,USD,cn\n",
        "r.csv",
    )
    assert [(p.per_hour, p.region) for p in catalog.instances["acme/a"].prices] == [(2, "eu"), (3, "us")]
    assert catalog.instances["acme/a@cn"].value(InstanceProperty.RAM_BYTES) == 50 * GIB


@pytest.mark.parametrize(
    ("row", "field", "found", "priced"),
    [
        ("Acme,x,H100 SXM5 80GB,8,,,0,USD,eu,2026-09-01", "price_per_hour", "overlay.price.zero", False),
        ("Acme,x,H100 SXM5 80GB,8,,,23,,eu,2026-09-01", "currency", "overlay.price.no_currency", False),
        ("Acme,x,H100 SXM5 80GB,8,,,23,$,eu,2026-09-01", "currency", "overlay.price.bad_currency", False),
        ("Acme,x,H100 SXM5 80GB,8,,,3,USD,eu,2026-09-01", "price_per_hour", "overlay.price.not_scaling", False),
        ("Acme,x,H21,8,,,23,USD,eu,2026-09-01", "gpu", "overlay.instance.unknown_gpu", True),
        ("Acme,x,A100 80GB,8,,,23,USD,eu,2026-09-01", "gpu", "overlay.instance.ambiguous_gpu", True),
    ],
)
def test_a_doubtful_row_is_told_and_used_without_the_doubtful_part(load, row, field, found, priced):
    catalog = load(PRICES + row, "acme.csv")
    [problem] = catalog.problems
    assert (problem.file, problem.line, problem.field, problem.what.id) == ("acme.csv", 4, field, found)
    assert problem.severity is Severity.WARNING
    assert bool(catalog.instances["acme/x"].prices) == priced


def test_who_has_checked_a_price_keeps_it(load):
    content = PRICES.replace("price_date\n", "price_date,checked\n").replace("2026-09-01\n", "2026-09-01,\n")
    catalog = load(content + "Acme,x,H100 SXM5 80GB,8,,,3,USD,eu,2026-09-01,yes\n", "acme.csv")
    assert said(catalog) == []
    assert catalog.instances["acme/x"].price().per_hour == 3


@pytest.mark.parametrize(
    ("row", "field", "found"),
    [
        ("Acme,,H100 SXM5 80GB,8,,,23,USD,eu,2026-09-01", "name", "overlay.value.required"),
        ("Acme,x,,8,,,23,USD,eu,2026-09-01", "gpu", "overlay.instance.which_gpu"),
        ("Acme,x,H100 SXM5 80GB,8,,,abc,USD,eu,2026-09-01", "price_per_hour", "overlay.value.not_number"),
        ("Acme,x,H100 SXM5 80GB,8,,,-3,USD,eu,2026-09-01", "price_per_hour", "overlay.value.out_of_range"),
        ("Acme,x,H100 SXM5 80GB,2.5,,,3,USD,eu,2026-09-01", "gpu_count", "overlay.value.not_whole"),
        ("Acme,x,H100 SXM5 80GB,0,,,3,USD,eu,2026-09-01", "gpu_count", "overlay.value.out_of_range"),
        ("Acme,x,H100 SXM5 80GB,8,,,23,USD,eu,soon", "price_date", "overlay.value.not_date"),
        ("Acme,=cmd|x,H100 SXM5 80GB,8,,,23,USD,eu,2026-09-01", "name", "overlay.value.formula"),
    ],
)
def test_a_wrong_row_is_told_and_left_out(load, row, field, found):
    catalog = load(PRICES + row, "acme.csv")
    assert told(catalog) == [(4, field, found)]
    assert {i for i in catalog.instances if i.startswith("acme/")} == {"acme/one", "acme/eight"}


def test_memory_of_all_gpus_is_told_and_the_catalogs_is_used(load):
    catalog = load(
        "provider,name,gpu,gpu_count,gpu_memory_gb,price_per_hour,currency\nAcme,a,H100 SXM5 80GB,8,640,23,USD\n",
        "m.csv",
    )
    assert told(catalog) == [(2, "gpu_memory_gb", "overlay.memory.total")]
    assert InstanceProperty.GPU_MEMORY_BYTES_EACH not in catalog.instances["acme/a"].properties


def test_an_ambiguous_gpu_is_planned_with_the_slowest_until_it_is_said(load):
    catalog = load("provider,name,gpu,gpu_count\nAcme,a,A100 80GB,8\nAcme,b,A100 80GB,4\n", "a.csv")
    assert len(catalog.problems) == 1
    assert "Planning takes the slowest of them, A100 PCIe 80GB" in said(catalog)[0]
    offer = catalog.instances["acme/b"]
    assert (offer.gpu_id, offer.planning_gpu_id) == (None, "nvidia-a100-pcie-80gb")


def test_an_offer_may_name_the_gpu_of_another_overlay(load, tmp_path):
    (tmp_path / "a.csv").write_text("provider,name,gpu,gpu_count\nAcme,a,Example 100,8\n")
    catalog = load(SIX_FIELDS, "z.yaml")
    assert said(catalog) == []
    assert catalog.instances["acme/a"].gpu_id == "example-example-100"


def test_a_price_list_may_have_chinese_columns(load):
    catalog = load(
        "云厂商,实例规格,GPU 型号,GPU 数量,内存 (GiB),每小时价格,币种,地域,价格日期,备注\n"
        "某云,甲-8,H100 SXM5 80GB,8,1600,160,CNY,北京,2026/9/1,含税\n",
        "报价.csv",
    )
    assert said(catalog) == []
    instance = catalog.instances["某云/甲-8"]
    price = instance.price()
    assert (instance.gpu_count, instance.note_zh) == (8, "含税")
    assert (price.per_hour, price.currency, price.region, price.date) == (160, "CNY", "北京", "2026-09-01")


@pytest.mark.parametrize(
    ("header", "missing"),
    [("name,gpu,price", "provider"), ("gpu,price_per_hour", "provider, name"), ("name,memory_gb", "vendor")],
)
def test_a_table_without_its_key_columns_is_told_once(load, header, missing):
    catalog = load(f"{header}\n" + "a,b,1\n" * 50, "t.csv")
    [problem] = catalog.problems
    assert (problem.line, problem.what.id) == (1, "overlay.file.missing_column")
    assert problem.what.values["columns"] == missing


@pytest.mark.parametrize("name", ["a\u202eb", "a\u0007b", "a\x1b[31mb"])
def test_a_name_that_cannot_be_shown_is_told(load, name):
    catalog = load(PRICES + f"Acme,{name},L40S,1,1,1,1,USD,eu,2026-09-01\n", "acme.csv")
    assert told(catalog) == [(4, "name", "overlay.value.unprintable")]
    assert "\u202e" not in said(catalog)[0]


def test_spaces_of_word_processors_and_line_ends_are_spaces(load):
    catalog = load('provider,name,gpu,gpu_count\nAcme\u00a0Cloud,"a\nb",L40S,1\n', "acme.csv")
    assert said(catalog) == []
    assert catalog.instances["acme-cloud/a-b"].name == "a b"


def test_a_column_without_a_meaning_is_told_once(load):
    catalog = load(PRICES.replace("region", "zone"), "acme.csv")
    assert told(catalog) == [(1, "zone", "overlay.file.unknown_column")]
    assert "acme/one" in catalog.instances


def test_instances_can_be_yaml(load):
    catalog = load(
        "instances:\n  - {provider: Acme, name: a, gpu: L40S, gpu_count: 2, price_per_hour: 2, currency: USD}\n"
        "  - {provider: Acme, name: b, gpu: L40S, gpu_count: two}\n"
    )
    assert told(catalog) == [(3, "gpu_count", "overlay.value.not_number")]
    assert catalog.instances["acme/a"].price().per_hour == 2


def test_a_name_and_a_configuration_are_a_model(load):
    catalog = load("models:\n  - name: Our 7B\n" + LLAMA)
    assert said(catalog) == []
    model = catalog.models["our-7b"]
    assert model.user
    assert model.parameters.value == 6_738_415_616
    assert model.architecture.layers == 32


def test_a_parameter_count_that_contradicts_the_configuration_is_told(load):
    catalog = load("models:\n  - name: Our 13B\n    parameters: 13000000000\n" + LLAMA)
    assert told(catalog) == [(3, "parameters", "overlay.model.parameters")]
    assert "our-13b" in catalog.models


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("models:\n  - name: X\n", 2),
        ("models:\n  - name: X\n    config: {model_type: unheard_of}\n", 3),
        ("models:\n  - name: X\n    config: text\n", 3),
        ("models:\n  - name: X\n    config: {model_type: llama, hidden_size: 4096}\n", 3),
        ("models:\n  - name: X\n    config: {model_type: llama, hidden_size: .nan, num_hidden_layers: 1}\n", 3),
        ("models:\n  - name: X\n    config: {model_type: llama, num_hidden_layers: 1000000000000}\n", 3),
        ("models:\n  - {name: 7, parameters: many, config: {model_type: llama}}\n", 2),
    ],
)
def test_a_model_that_cannot_be_read_is_told(load, base, content, line):
    catalog = load(content)
    [problem] = catalog.problems
    assert problem.line == line
    assert said(catalog)
    assert len(catalog.models) == len(base.models)


def test_rates_can_be_ones_own(load):
    catalog = load("rates:\n  CNY: {per_usd: 7.05, date: 2026-10-01}\n  HKD: {per_usd: 7.8}\n  X: {per_usd: 1}\n")
    assert told(catalog) == [(4, "X", "overlay.price.bad_currency")]
    assert (catalog.currencies["CNY"].per_usd, catalog.currencies["CNY"].date) == (7.05, "2026-10-01")
    assert catalog.currencies["HKD"].source.user
    assert catalog.currencies["USD"].per_usd == 1


def test_sources_can_be_ones_own(load):
    catalog = load(SIX_FIELDS + "    source: sheet\nsources:\n  sheet: {citation: Our datasheet, date: 2026-05}\n")
    assert said(catalog) == []
    source = catalog.gpus["example-example-100"].known(P.POWER_W).fact.source
    assert (source.citation, source.date, source.user) == ("Our datasheet", "2026-05", True)


@pytest.mark.parametrize("content", ["gpus: text\n", "gpus: {a: 1}\n", "rates: [1]\n", "sources: x\n", "gpu: []\n"])
def test_a_section_of_the_wrong_shape_is_told(load, content):
    catalog = load(content)
    assert len(catalog.problems) == 1
    assert catalog.problems[0].line == 1


def test_overlays_are_read_with_the_catalog(tmp_path):
    (tmp_path / "own.yaml").write_text(SIX_FIELDS)
    assert "example-example-100" in load_catalog(shipped("catalogs"), [tmp_path / "own.yaml"]).gpus


def test_the_hash_follows_the_content_of_the_overlays(load, tmp_path, base):
    first = load(SIX_FIELDS).hash
    assert first != base.hash
    assert load(SIX_FIELDS).hash == first
    assert load(SIX_FIELDS.replace("500", "501")).hash != first
    assert load(SIX_FIELDS.replace("\n", "\r\n")).hash == first


def test_a_later_file_goes_over_an_earlier_one(load, tmp_path):
    (tmp_path / "a.yaml").write_text(SIX_FIELDS)
    catalog = load(SIX_FIELDS.replace("500", "450"), "b.yaml")
    power = catalog.gpus["example-example-100"].known(P.POWER_W)
    assert (power.value, power.others[0].value) == (450, 500)


def test_only_overlay_files_of_the_folder_are_read(tmp_path):
    for name in ("b.csv", "a.yaml", "c.yml", "notes.txt", ".hidden.yaml", "D.CSV"):
        (tmp_path / name).write_text("")
    assert [path.name for path in overlay_files(tmp_path)] == ["D.CSV", "a.yaml", "b.csv", "c.yml"]
    assert overlay_files(tmp_path / "nothing") == ()


def test_a_file_in_place_of_the_folder_is_told(tmp_path):
    """Else a person would wait in vain for what they wrote into it."""
    (tmp_path / "overlays").write_text("hello")
    catalog = load_catalog(shipped("catalogs"), overlay_files(tmp_path / "overlays"))
    assert [problem.file for problem in catalog.problems] == ["overlays"]
    assert catalog.gpus


def test_very_many_different_gpus_are_looked_up_to_a_limit(load, monkeypatch):
    """A column that names another thing in each row would cost minutes."""
    monkeypatch.setattr("gpuplanner.catalog.gpu_finder.MOST_NAMES", 3)
    rows = "".join(f"Acme,n{n},Thing {n},1\n" for n in range(6)) + "Acme,known,L40S,1\n"
    catalog = load("provider,name,gpu,gpu_count\n" + rows, "prices.csv")
    assert [p.what.id for p in catalog.problems].count("overlay.instance.many_gpus") == 3
    assert catalog.instances["acme/known"].gpu_id == "nvidia-l40s"
    assert len([i for i in catalog.instances if i.startswith("acme/")]) == 7


def test_a_gpu_of_the_catalog_is_found_by_its_name_in_any_case(load):
    catalog = load(
        "name,vendor,memory_gb,memory_bandwidth_gb_per_s,power_w\nh100 sxm5 80gb,NVIDIA,80,3350,650\n", "g.csv"
    )
    assert catalog.problems == ()
    assert catalog.gpus["nvidia-h100-sxm5-80gb"].known(P.POWER_W).value == 650


def test_very_many_problems_are_told_up_to_a_limit(load):
    rows = "".join(f"Acme,n{n},L40S,many\n" for n in range(MOST_PROBLEMS + 300))
    catalog = load("provider,name,gpu,gpu_count\n" + rows, "bad.csv")
    assert len(catalog.problems) == MOST_PROBLEMS + 1
    assert said(catalog)[-1] == "bad.csv: 300 more problems of this file are not listed."


@pytest.mark.alone
@pytest.mark.slow
def test_a_hundred_thousand_rows_load_in_seconds(load):
    gpus = ("H100 SXM5 80GB", "A100 80GB", "L40S", "T4", "MI300X", "nothing known")
    rows = "".join(
        f"Big,m{n},{gpus[n % 6]},{2 ** (n % 4)},{n % 97 + 1},{2.0 * 2 ** (n % 4)},USD,r{n % 30},2026-09-01\n"
        for n in range(100_000)
    )
    start = time.process_time()
    catalog = load("provider,name,gpu,gpu_count,vcpus,price_per_hour,currency,region,price_date\n" + rows, "big.csv")
    assert time.process_time() - start < 20
    assert len(catalog.instances) > 100_000
    assert [p.what.id for p in catalog.problems] == ["overlay.instance.ambiguous_gpu", "overlay.instance.unknown_gpu"]


def test_no_name_of_an_own_file_can_turn_a_line_around_or_speak_to_a_terminal(tmp_path, base):
    """The name of the file itself, aliases, and all that a model says of itself."""
    hostile = "\u202egnp.exe\x1b[2J\x07"
    model = LLAMA.replace("    config", '    aliases: ["my\\u202e\\u0007 llama"]\n    licence: "a\\u202eb"\n    config')
    content = (
        f'{SIX_FIELDS}    aliases: ["E\\u202e100", "Ex 100"]\nmodels:\n  - name: "Own\\u202e\\u0007 Llama"\n{model}'
    )
    (tmp_path / f"a{hostile}.yaml").write_text(content, encoding="utf-8")
    catalog = with_overlays(base, overlay_files(tmp_path))
    gpu = next(gpu for gpu in catalog.gpus.values() if gpu.user)
    own = next(entry for entry in catalog.models.values() if entry.user)
    sources = [known.fact.source.citation for known in (*gpu.properties.values(), own.parameters)]
    texts = [*gpu.aliases, own.name, own.licence, *own.aliases, *sources]
    assert {"E100", "Ex 100", "Own Llama", "ab", "my llama"} <= set(texts)
    assert any(text.startswith("agnp.exe") for text in sources)
    assert [text for text in texts if not text.isprintable()] == []
    assert all(text.isprintable() for text in said(catalog))


def test_a_table_of_another_kind_is_told_and_not_read(tmp_path, base):
    for name in ("prices.xlsx", "prices.TSV", "gpu.json", "notes.txt"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    catalog = with_overlays(base, overlay_files(tmp_path))
    assert [(p.file, p.what.id) for p in catalog.problems] == [
        (name, "overlay.file.other_kind") for name in ("gpu.json", "prices.TSV", "prices.xlsx")
    ]


def test_a_dollar_costs_a_dollar(load, base):
    catalog = load("rates:\n  USD: {per_usd: 7, date: 2026-10-01}\n  CNY: {per_usd: 7.1, date: 2026-10-01}\n")
    assert [p.what.id for p in catalog.problems] == ["overlay.rate.dollar"]
    assert catalog.currencies.get("USD") == base.currencies.get("USD")
    assert catalog.currencies["CNY"].per_usd == 7.1


def test_a_date_to_come_and_a_currency_without_a_rate_are_said_and_the_price_is_kept(tmp_path, base):
    rows = [
        "provider,name,gpu,gpu_count,price_per_hour,currency,price_date",
        "Acme,a,H100 SXM5 80GB,1,3,USD,2099-01-01",
        "Acme,b,H100 SXM5 80GB,1,3.1,USD,2099-01-01",
        "Acme,c,H100 SXM5 80GB,1,3.2,XYZ,2026-11",
        "Acme,d,H100 SXM5 80GB,1,3.3,KRW,2026-12-01",
        "Acme,e,H100 SXM5 80GB,1,3.4,EUR,2027",
    ]
    path = tmp_path / "prices.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    catalog = with_overlays(base, [path], date(2026, 11, 30), {"KRW"})
    said = {(p.what.id, p.file, p.line, p.field, p.severity) for p in catalog.problems}
    warning = Severity.WARNING
    assert said == {
        ("overlay.price.future", "prices.csv", 2, "price_date", warning),
        ("overlay.price.no_rate", "prices.csv", 4, "currency", warning),
        ("overlay.price.future", "prices.csv", 6, "price_date", warning),
    }
    assert all(catalog.instances[f"acme/{name}"].prices for name in "abcde")


def test_a_rate_of_a_day_to_come_is_said(tmp_path, base):
    path = tmp_path / "rates.yaml"
    path.write_text("rates:\n  KRW:\n    per_usd: 1400\n    date: 2099-01\n    source: bank\n", encoding="utf-8")
    catalog = with_overlays(base, [path], date(2026, 11, 30))
    assert [(p.what.id, p.line, p.field) for p in catalog.problems] == [("overlay.rate.future", 4, "date")]
    assert catalog.currencies["KRW"].per_usd == 1400


def test_a_long_list_is_read_without_going_through_it_again_and_again(tmp_path, base):
    """The collector of garbage, and a fact made anew for each cell, took more than half of the time."""
    head = "provider,name,gpu,gpu_count,vcpus,price_per_hour,currency\n"
    rows = (f"Acme,x{n},H100 SXM5 80GB,1,16,3,USD" for n in range(3_000))
    path = tmp_path / "long.csv"
    path.write_text(head + "\n".join(rows), encoding="utf-8")
    collections: list[str] = []

    def count(phase: str, _info: dict[str, int]) -> None:
        collections.append(phase)

    gc.collect()
    gc.callbacks.append(count)
    try:
        catalog = with_overlays(base, [path])
    finally:
        gc.callbacks.remove(count)
    # Parsing the file and putting the catalog together make few objects.
    assert len(collections) <= 4
    assert gc.isenabled()
    facts = {id(catalog.instances[f"acme/x{n}"].properties[InstanceProperty.VCPUS]) for n in range(3_000)}
    assert len(facts) == 1


def test_a_row_of_the_catalogs_own_gpu_name_leaves_the_gpu_as_the_catalog_has_it(tmp_path, base):
    known = next(
        i for i in base.instances.values() if i.gpu_id and base.gpus[i.gpu_id].name != i.gpu_text and i.gpu_text
    )
    named = f'{known.provider},{known.name},"{known.gpu_text}",9,USD\n'
    path = tmp_path / "p.csv"
    path.write_text("provider,name,gpu,price_per_hour,currency\n" + named, encoding="utf-8")
    assert with_overlays(base, [path]).instances[known.id].gpu_id == known.gpu_id
