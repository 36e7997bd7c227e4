"""Whatever is typed, an answer comes: never an error, never a guess."""

import time
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.catalog.names import Names, names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.units import GIB

TRANSLATORS = [Translator(language) for language in Language]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(shipped("catalogs"))


@pytest.fixture(scope="module")
def names(catalog) -> Names:
    return names_of(catalog)


@pytest.fixture(scope="module")
def gpu_names(catalog) -> list[str]:
    return sorted({name for gpu in catalog.gpus.values() for name in (gpu.name, *gpu.aliases)})


@pytest.fixture(scope="module")
def spoken(catalog) -> Callable[[str], set[str]]:
    """The digits in each name of a GPU, with the sizes that sources give it. (The catalog is too much to print.)"""

    def digits(gpu_id: str) -> set[str]:
        gpu = catalog.gpus[gpu_id]
        names = {_digits_of(name) for name in (gpu.name, gpu.id, *gpu.aliases)}
        known = gpu.known(GpuProperty.MEMORY_BYTES)
        sizes = [str(round(fact.value / GIB)) for fact in (known.fact, *known.others)] if known else []
        return names | {name.replace(old, new) for name in names for old in sizes for new in sizes if old in name}

    return digits


# Pieces of real names, so that what is put together often comes near one.
PIECES = st.sampled_from(
    [
        *(
            "NVIDIA",
            "Tesla",
            "RTX",
            "A",
            "H",
            "L",
            "100",
            "H100",
            "A100",
            "20",
            "200",
            "0",
            "4",
            "40",
            "S",
            "6000",
            "Ada",
            "Ti",
            "D",
        ),
        *(
            "PCIe",
            "SXM",
            "80GB",
            "48 GB",
            "22731MiB",
            "MIG",
            "1g.10gb",
            "-10C",
            "GRID",
            "8x",
            "x8",
            "/",
            "|",
            "(",
            ")",
            "+",
            "=",
        ),
        *(
            "HBM3",
            "BF16",
            "英伟达",
            "显卡",
            "8张",
            "昇腾",
            "910B",
            "qwen",
            "3",
            "7b",
            "llama",
            "Q4_K_M",
            ".gguf",
            "v0.1",
            "p5",
            ".48xlarge",
            "...",
        ),
    ]
)
COMPOSED = st.lists(PIECES, max_size=8).flatmap(
    lambda pieces: st.sampled_from(["", " ", "-"]).map(lambda s: s.join(pieces))
)


def check(names: Names, text: str, memory_bytes: float | None = None) -> None:
    found = names.resolve(text, memory_bytes=memory_bytes)
    assert found.query == text
    assert all(translator.text(found.reason) for translator in TRANSLATORS)
    assert len({candidate.id for candidate in found.candidates}) == len(found.candidates)
    if found.id is None:
        assert (found.name, found.fraction) == (None, None)
    else:
        assert found.candidates == ()
        assert found.kind is not None
        assert found.name
    if found.fraction is not None:
        assert 0 < found.fraction.memory <= 1
        assert found.fraction.compute is None or 0 < found.fraction.compute <= 1


@given(st.text(max_size=300))
@example("")
@example("\x00\x1b[31m\u202e\u200f")
@example("😀 A100 🚀")
@example("א H100 ב")
@example("\ud800")
@example("A" * 10_000)
@example("(" * 200)
@example("a/" * 100)
@example("8x" * 100)
@example("1g.10gb " * 25)
def test_no_text_makes_it_raise(names, text):
    check(names, text)


@given(COMPOSED, st.none() | st.floats(allow_nan=True, allow_infinity=True))
@settings(max_examples=400)
def test_no_name_made_of_real_pieces_makes_it_raise(names, text, memory_bytes):
    check(names, text, memory_bytes)


@given(st.integers(0, 10_000), st.integers(0, 40), st.sampled_from("0123456789"))
@settings(max_examples=300)
def test_a_mistyped_name_is_never_another_gpu(spoken, names, gpu_names, which, place, digit):
    """One digit changed gives the product with that number or none, but not a neighbour of it."""
    numbered = [name for name in gpu_names if _digits_of(name) and "(" not in name]  # there, a remark stands
    name = numbered[which % len(numbered)]
    places = [i for i, c in enumerate(name) if c.isdigit()]
    changed = places[place % len(places)]
    mistyped = name[:changed] + digit + name[changed + 1 :]
    found = names.resolve(mistyped, kind="gpu")
    if found.id is not None:
        typed = _digits_of(mistyped)
        assert any(n in typed or typed in n for n in spoken(found.id)), (name, mistyped, found.id)


def _digits_of(name: str) -> str:
    return "".join(c for c in name if c.isdigit())


@given(st.integers(0, 10_000), st.sampled_from(["{}", " {} ", "{}\n", "\t{}"]), st.booleans())
def test_case_and_space_do_not_matter(names, gpu_names, which, pattern, upper):
    name = gpu_names[which % len(gpu_names)]
    changed = pattern.format(name.upper() if upper else name.casefold())
    assert names.resolve(changed, kind="gpu").id == names.resolve(name, kind="gpu").id


@pytest.mark.alone
@pytest.mark.parametrize("text", ["x" * 10_000_000, "A100 " * 1_000_000, "MIG " * 1_000_000])
def test_a_huge_text_is_refused_at_once(names, text):
    started = time.perf_counter()
    assert names.resolve(text).reason.id == "names.refused.too_long"
    assert time.perf_counter() - started < 0.1


@pytest.mark.alone
def test_a_name_takes_no_time(names, gpu_names):
    started = time.perf_counter()
    for name in gpu_names:
        names.resolve(name)
    assert (time.perf_counter() - started) / len(gpu_names) < 0.005
