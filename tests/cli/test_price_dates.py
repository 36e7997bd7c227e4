"""An estimate says of when the price is that it counts with, as the ranking does."""

import re

import pytest

from gpuplanner.cli.context import Context
from gpuplanner.cli.main import main
from gpuplanner.cli.price_dates import price_date
from gpuplanner.messages import Language, Translator


def test_a_price_without_a_date_says_so_and_an_old_one_its_age() -> None:
    context = Context.open(Translator(Language.ENGLISH))
    assert price_date("", context) == context.text("catalogui.price.no_date")
    assert re.search(r"2001-01-01, \d+ years old", price_date("2001-01-01", context))


def test_the_cost_per_hour_of_an_estimate_says_of_when_its_price_is(capsys: pytest.CaptureFixture[str]) -> None:
    main(["estimate", "chat-70b", "--machine", "p5.48xlarge"])
    line = next(line for line in capsys.readouterr().out.splitlines() if "USD/h" in line)
    assert "as published (" in line
    assert "exact" not in line
