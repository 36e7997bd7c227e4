"""Whatever stands in an overlay, the catalog loads, keeps what it had, and says each problem in both languages."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuplanner.catalog.overlays import overlay_files, with_overlays
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped

YAML = """\
sources:
  sheet: {citation: Our sheet, date: 2026-05}
gpus:
  - name: Example 100
    vendor: Example
    source: sheet
    aliases: [E100]
    memory_gb: 64
    memory_bandwidth_gb_per_s: 2000
    bf16_tflops: 400
    also:
      - {source: epoch, basis: [sparse], bf16_tflops: 800}
    remarks:
      - {kind: note, en: A note, zh: 说明}
instances:
  - {provider: Acme, name: a, gpu: Example 100, gpu_count: 2, gpu_share: 1/2, price_per_hour: 2, currency: USD}
models:
  - name: Our 7B
    config: {model_type: llama, hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4,
      intermediate_size: 128, vocab_size: 1000}
rates:
  CNY: {per_usd: 7.1, date: 2026-10-01}
"""
CSV = """\
provider,name,gpu,gpu_count,gpu_share,gpu_memory_gb,ram_gib,price_per_hour,spot_per_hour,currency,region,price_date
Acme,one,H100 SXM5 80GB,1,1,80,200,3,1,USD,eu,2026-09-01
Acme,two,A100 80GB,8,1/2,80,1600,23,,CNY,"cn, north",2026/9/1
"""
ENGLISH, CHINESE = Translator(Language.ENGLISH), Translator(Language.CHINESE)
PIECES = st.sampled_from(
    ["", " ", "\n", "\t", ":", "- ", "[", "]", "{", "}", ",", ";", '"', "'", "&a ", "*a", "!!int ", "? ", "|", ">", "#",
     "---\n", "nan", ".inf", "-1", "0", "1e308", "9" * 400, "null", "true", "=1", "\x00", "\ufeff", "\u202e", "显存",
     "\r", "!!binary x", "<<: ", "0x1F", "2026-01-01", "1/0", "é", "\U0001f600", "x" * 5000]
)  # fmt: skip


class Base:
    """The shipped catalog, which Hypothesis is not to print."""

    def __init__(self):
        self.catalog = load_catalog(shipped("catalogs"))

    def __repr__(self):
        return "the shipped catalog"


@pytest.fixture(scope="module")
def base():
    return Base()


@st.composite
def changed(draw, content):
    """The content with a few pieces of it cut out, doubled or replaced."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from([0, 0, 1, 3, 20])))
        content = content[:start] + draw(PIECES) + content[end:]
    return content


def check(base, tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    catalog = with_overlays(base.catalog, overlay_files(tmp_path))
    path.unlink()
    assert set(base.catalog.gpus) <= set(catalog.gpus)
    assert set(base.catalog.instances) <= set(catalog.instances)
    for problem in catalog.problems:
        for translator in (ENGLISH, CHINESE):
            said = translator.text(problem.message)
            assert "\n" not in said
            assert len(said) < 700


FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(content=changed(YAML))
def test_changed_yaml(base, tmp_path, content):
    check(base, tmp_path, "own.yaml", content.encode("utf-8", "surrogatepass"))


@FUZZ
@given(content=changed(CSV))
def test_changed_csv(base, tmp_path, content):
    check(base, tmp_path, "own.csv", content.encode("utf-8", "surrogatepass"))


@settings(FUZZ, max_examples=40)
@given(content=st.binary(max_size=300), name=st.sampled_from(["own.yaml", "own.csv"]))
def test_any_bytes(base, tmp_path, content, name):
    check(base, tmp_path, name, content)
