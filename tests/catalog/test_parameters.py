import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuplanner.catalog import parameters
from gpuplanner.engine.formulas.terms import TERM_UNITS
from gpuplanner.figures import described
from gpuplanner.messages import Language, Translator

FORMULAS = [member for member in vars(parameters).values() if hasattr(member, "formula")]


def test_there_are_formulas():
    assert len(FORMULAS) > 10


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)
def test_every_formula_and_its_terms_have_a_text_in_both_languages_and_a_unit(formula):
    description = described(formula)
    for language in Language:
        translator = Translator(language)
        assert translator.has(f"formula.{description.id}")
        assert all(translator.has(f"term.{name}") for name in inspect.signature(formula).parameters)
    assert set(inspect.signature(formula).parameters) <= TERM_UNITS.keys()
    assert all(name in description.equation for name in inspect.signature(formula).parameters)


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)
@settings(max_examples=25)
@given(data=st.data())
def test_arrays_give_what_numbers_give(formula, data):
    count = len(inspect.signature(formula).parameters)
    rows = data.draw(st.lists(st.lists(st.integers(0, 2000), min_size=3, max_size=3), min_size=count, max_size=count))
    together = formula(*(np.array(row, dtype=np.int64) for row in rows))
    assert together.tolist() == [formula(*(row[i] for row in rows)) for i in range(3)]


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)
@settings(max_examples=25)
@given(data=st.data())
def test_a_formula_is_its_equation(formula, data):
    """The equation as it is shown, worked out as text, gives what the code gives."""
    names = list(inspect.signature(formula).parameters)
    values = {name: data.draw(st.integers(0, 500)) for name in names}
    equation = described(formula).equation.replace("·", "*")
    assert eval(equation, {"__builtins__": {}}, values) == formula(**values)
