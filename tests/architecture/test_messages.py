"""Every text for people exists in both languages, takes the same values, and is compiled."""

import string
from pathlib import Path

import pytest
from babel.messages import Catalog
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

LOCALES = Path(__file__).resolve().parents[2] / "resources" / "locale"
LANGUAGES = ("en", "zh_CN")
DOMAINS = sorted({path.stem for path in LOCALES.glob("*/LC_MESSAGES/*.po")})


def read(language: str, domain: str) -> Catalog:
    with (LOCALES / language / "LC_MESSAGES" / f"{domain}.po").open("rb") as file:
        return read_po(file, locale=language, domain=domain, abort_invalid=True)


def texts(catalog: Catalog) -> dict[str, str]:
    return {str(entry.id): str(entry.string) for entry in catalog if entry.id}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_there_are_messages():
    assert DOMAINS


@pytest.mark.parametrize("domain", DOMAINS)
def test_both_languages_say_the_same_things(domain):
    english, chinese = (texts(read(language, domain)) for language in LANGUAGES)
    assert english.keys() == chinese.keys()
    assert {i for i in english if placeholders(english[i]) != placeholders(chinese[i])} == set()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_message_is_written(language, domain):
    catalog = read(language, domain)
    assert [i for i, text in texts(catalog).items() if not text.strip()] == []
    assert [str(entry.id) for entry in catalog if entry.id and entry.fuzzy] == []
    assert [i for i in texts(catalog) if i.partition(".")[0] != domain] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_compiled_messages_are_fresh(language, domain):
    compiled = LOCALES / language / "LC_MESSAGES" / f"{domain}.mo"
    assert compiled.is_file(), "run `make messages` and commit what it writes"
    with compiled.open("rb") as file:
        stored = texts(read_mo(file))
    assert stored == texts(read(language, domain)), "run `make messages` and commit what it writes"
