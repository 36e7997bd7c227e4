"""Every text for people exists in both languages, takes the same values, and is compiled."""

import ast
import re
import string
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages import Catalog
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]
LOCALES = ROOT / "resources" / "locale"
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
def test_no_message_is_written_twice(language, domain):
    """The parser keeps one of two without a word, so the lines are counted."""
    lines = (LOCALES / language / "LC_MESSAGES" / f"{domain}.po").read_text(encoding="utf-8").splitlines()
    ids = Counter(line for line in lines if line.startswith("msgid ") and line != 'msgid ""')
    assert [line for line, count in ids.items() if count > 1] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_compiled_messages_are_fresh(language, domain):
    compiled = LOCALES / language / "LC_MESSAGES" / f"{domain}.mo"
    assert compiled.is_file(), "run `make messages` and commit what it writes"
    with compiled.open("rb") as file:
        stored = texts(read_mo(file))
    assert stored == texts(read(language, domain)), "run `make messages` and commit what it writes"


def uses(source: str) -> Iterator[tuple[int, str, set[str] | None]]:
    """Where a message is named outright: line, id, and the values it is given (None when they cannot be seen)."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        message_id = node.args[0].value
        if called in {"msg", "text"} and isinstance(message_id, str) and "." in message_id:
            values = {keyword.arg for keyword in node.keywords if keyword.arg}
            yield node.lineno, message_id, None if len(values) < len(node.keywords) else values


def test_every_message_that_is_named_exists_and_gets_its_values():
    english = {i: text for domain in DOMAINS for i, text in texts(read("en", domain)).items()}
    faults = []
    for path in sorted((ROOT / "gpuplanner").rglob("*.py")):
        for line, message_id, values in uses(path.read_text(encoding="utf-8")):
            where = f"{path.relative_to(ROOT)}:{line}"
            if message_id not in english:
                faults.append(f"{where} names {message_id}, which has no text")
            elif values is not None and (lacking := placeholders(english[message_id]) - values):
                faults.append(f"{where} gives {message_id} no {', '.join(sorted(lacking))}")
    assert not faults, "\n".join(faults)


def test_uses_of_messages_are_found():
    source = 'msg("plan.fits", a=1, b=2); tr.text("plan.title"); msg("plan.x", **more); msg(computed); label.text()'
    assert list(uses(source)) == [(1, "plan.fits", {"a", "b"}), (1, "plan.title", set()), (1, "plan.x", None)]


BY_HAND = re.compile(r"\s%|%[)'\"]|%}|\}%")
"""A percent sign after a space, or one that a text or a format puts behind a value that it is given."""


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_no_text_formats_per_cent_by_hand(language, domain):
    """How a share reads is said once, by `units.percent`; a text is given it ready, or says it as that does."""
    assert {i: text for i, text in texts(read(language, domain)).items() if BY_HAND.search(text)} == {}


def test_no_code_formats_per_cent_by_hand():
    faults = []
    for path in sorted((ROOT / "gpuplanner").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        written = [
            part
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in ast.walk(node)
            if isinstance(part, ast.Constant) and re.search(r"%(?![A-Za-z])", str(part.value))
        ]
        faults += [f"{path.relative_to(ROOT)}:{part.lineno}" for part in written if path.name != "units.py"]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("text", ["30 % of it", "{share:.0%} of it", "{percent}% of it", "{percent} %"])
def test_per_cent_by_hand_is_found(text):
    assert BY_HAND.search(text)
    assert not BY_HAND.search("80% of {share}, 约 1%")


def with_exponents(path: Path) -> Iterator[str]:
    """Numbers that go into a message as "1e+18" where they are large."""
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "msg":
            continue
        for node in ast.walk(call):
            if not isinstance(node, ast.FormattedValue) or node.format_spec is None:
                continue
            form = node.format_spec
            if re.search(r"[gGeE]'?$", ast.unparse(form).rstrip("'\"")):
                yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_no_number_in_a_message_has_an_exponent():
    files = sorted((ROOT / "gpuplanner").rglob("*.py"))
    assert [place for path in files for place in with_exponents(path)] == []
