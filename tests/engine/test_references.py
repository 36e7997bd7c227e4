"""What formulas rest on reads in both languages: our own sentences as texts, the works of others by their titles."""

import pkgutil
import re
from importlib import import_module

import pytest

from gpuplanner.engine import formulas
from gpuplanner.engine.explaining import equation_text, reference_text
from gpuplanner.figures import Formula
from gpuplanner.messages import Language, Translator

FOUND = {
    formula.id: formula
    for module in pkgutil.iter_modules(formulas.__path__, f"{formulas.__name__}.")
    for value in vars(import_module(module.name)).values()
    if isinstance(formula := getattr(value, "formula", None), Formula) and formula.reference
}
WORK = re.compile(r"\b(?:19|20)\d\d\b|\(19|\w+/\w+\.py\b|^torch\.")
"""A year, or the source file or function of a program: what a sentence of our own has not."""
HAN = re.compile(r"[\u4e00-\u9fff]")
NAMES_ALONE = {"offloaded_bytes"}
"""Whose reference is only the name of a product."""


@pytest.mark.parametrize("formula", FOUND.values(), ids=FOUND.keys())
def test_a_reference_reads_in_both_languages(formula):
    english, chinese = Translator(Language.ENGLISH), Translator(Language.CHINESE)
    assert reference_text(formula, english) == formula.reference
    if not english.has(f"reference.{formula.id}"):
        assert WORK.search(formula.reference), "a sentence of our own needs a text `reference.<id>` in both languages"
    elif formula.id not in NAMES_ALONE:
        assert HAN.search(reference_text(formula, chinese))


def test_there_are_works_and_sentences():
    english = Translator(Language.ENGLISH)
    assert len(FOUND) > 100
    assert 50 < sum(english.has(f"reference.{formula_id}") for formula_id in FOUND) < len(FOUND) - 30


def test_the_small_words_of_an_equation_are_in_the_language_too():
    equation = "runtime_bytes where pipeline_parallel > 1, else 0"
    assert equation_text(equation, Translator(Language.ENGLISH)).count(" where ") == 1
    chinese = equation_text(equation, Translator(Language.CHINESE))
    assert "若" in chinese
    assert "否则" in chinese
    assert not re.search("where|else", chinese)
