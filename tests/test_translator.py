"""Messages: rendered late, in either language, nested; a text that is missing is a fault of ours."""

from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from gpuplanner.messages import Language, Translator, msg


@pytest.fixture
def locale_folder(tmp_path: Path) -> Path:
    texts = {
        "en": {"a.fits": "{count} GPUs: {verdict}", "a.yes": "fits", "a.braces": 'the field "{{x}}"'},
        "zh_CN": {"a.fits": "{verdict}：{count} 块 GPU", "a.yes": "可运行", "a.braces": "字段 {{x}}"},
    }
    for language, entries in texts.items():
        folder = tmp_path / language / "LC_MESSAGES"
        folder.mkdir(parents=True)
        catalog = Catalog(locale=language)
        for message_id, text in entries.items():
            catalog.add(message_id, text)
        with (folder / "a.mo").open("wb") as file:
            write_mo(file, catalog)
    return tmp_path


def test_a_message_in_a_message_is_rendered_in_the_same_language(locale_folder: Path) -> None:
    message = msg("a.fits", count=2, verdict=msg("a.yes"))
    assert Translator(Language.ENGLISH, locale_folder).text(message) == "2 GPUs: fits"
    assert Translator(Language.CHINESE, locale_folder).text(message) == "可运行：2 块 GPU"


def test_a_text_that_is_missing_is_named(locale_folder: Path) -> None:
    translator = Translator(Language.ENGLISH, locale_folder)
    assert translator.has("a.yes")
    assert not translator.has("a.no")
    with pytest.raises(KeyError, match=r"a\.no"):
        translator.text("a.no")
    with pytest.raises(KeyError, match=r"nowhere\.at_all"):
        translator.text("nowhere.at_all")


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("zh_CN.UTF-8", Language.CHINESE),
        ("zh-Hans", Language.CHINESE),
        ("en_GB", Language.ENGLISH),
        ("C", Language.ENGLISH),
        (None, Language.ENGLISH),
    ],
)
def test_the_language_follows_the_locale(name: str | None, language: Language) -> None:
    assert Language.from_locale(name) is language


@pytest.mark.parametrize(("count", "said"), [(1, "1 node of 4"), ("1", "1 node of 4"), (2, "2 nodes of 4")])
def test_a_text_counts_one_and_many(count: int | str, said: str) -> None:
    assert Translator(Language.ENGLISH).text("cli.nodes_of", nodes=count, gpus=4) == said


@pytest.mark.parametrize(
    ("given", "said"), [("27.9 d", "27.9 天"), ("4.80 h", "4.80 小时"), ("1.27 min", "1.27 分"), ("3 s", "3 秒")]
)
def test_a_duration_is_said_in_chinese_words(given: str, said: str) -> None:
    chinese = Translator(Language.CHINESE)
    number, unit = given.split()
    assert f"{number} {chinese.unit(unit)}" == said
    assert said in chinese.text("planui.broken.deadline.over", over=given)
    assert given in Translator(Language.ENGLISH).text("planui.broken.deadline.over", over=given)


@pytest.mark.parametrize(
    ("limit", "said"), [("30.0 d", "30.0 天之内"), ("1.50 s", "1.50 秒之内"), ("50.0 ms", "50.0 ms 之内")]
)
def test_a_space_parts_a_chinese_word_from_a_latin_unit_and_not_from_a_chinese_one(limit: str, said: str) -> None:
    near = msg("items.goal_may_miss.most", metric="X", value="1.00 h", limit=limit, end="2.00 h")
    text = Translator(Language.CHINESE).text(near)
    assert said in text
    assert text.isprintable()
    assert limit in Translator(Language.ENGLISH).text(near)


@pytest.mark.parametrize("symbol", ["ms", "µs", "GB/s", "tokens/s", "GiB"])
def test_other_units_stay_symbols_in_chinese(symbol: str) -> None:
    chinese = Translator(Language.CHINESE)
    assert chinese.unit(symbol) == symbol
    assert f"3 {symbol}" in chinese.text("planui.broken.deadline.over", over=f"3 {symbol}")
