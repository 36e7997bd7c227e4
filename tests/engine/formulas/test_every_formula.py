"""Every formula of the engine says what it is: a unit, an equation in its own terms, names in both languages."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpuplanner.catalog import parameters
from gpuplanner.engine import formulas
from gpuplanner.engine.explaining import equation_text
from gpuplanner.engine.formulas.terms import TERM_UNITS
from gpuplanner.figures import described
from gpuplanner.messages import Language, Translator

WORD = re.compile(r"[a-z][a-z0-9_]*")


def _formulas() -> Iterator[Callable[..., Any]]:
    for module in pkgutil.iter_modules(formulas.__path__):
        loaded = importlib.import_module(f"{formulas.__name__}.{module.name}")
        yield from (f for f in vars(loaded).values() if hasattr(f, "formula") and f.__module__ == loaded.__name__)


FORMULAS = list(_formulas())


def test_there_are_formulas_and_no_two_of_one_name():
    counted = [f for f in vars(parameters).values() if hasattr(f, "formula") and f.__module__ == parameters.__name__]
    assert counted
    names = [described(f).id for f in (*FORMULAS, *counted)]
    assert len(names) > 100
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)
def test_a_formula_and_its_terms_have_names_in_both_languages_and_units(formula):
    terms = inspect.signature(formula).parameters
    assert terms.keys() <= TERM_UNITS.keys()
    for language in Language:
        translator = Translator(language)
        assert translator.has(f"formula.{described(formula).id}")
        assert [name for name in terms if not translator.has(f"term.{name}")] == []


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)
def test_an_equation_names_every_term(formula):
    equation = described(formula).equation
    assert equation
    assert [n for n in inspect.signature(formula).parameters if n not in WORD.findall(equation)] == []


IN_ENGLISH_TOO = {
    "max", "min", "floor", "ceil", "sqrt", "log",
    "token", "rank", "logit", "logits", "beam", "all", "to", "reduce",
}  # fmt: skip
"""Names of functions, and words that people of the field write in English between Chinese ones."""


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)
def test_an_equation_has_no_english_words_in_chinese(formula):
    said = equation_text(described(formula).equation, Translator(Language.CHINESE))
    assert set(re.findall(r"(?<![A-Za-z])[a-z]{2,}(?![A-Za-z])", said)) - IN_ENGLISH_TOO == set()


def test_a_function_in_an_equation_is_no_term():
    english = Translator(Language.ENGLISH)
    assert equation_text("max(replicas) + elements²", english) == f"max({english.text('term.replicas')}) + elements²"


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)
def test_a_formula_says_what_it_computes(formula):
    assert (formula.__doc__ or "").strip()
