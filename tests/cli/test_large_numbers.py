"""Large numbers in sentences: in digits with separators, as figures are, in both languages."""

import re

import pytest

from gpuplanner.cli.context import Context
from gpuplanner.cli.main import main
from gpuplanner.figures import Certainty, Figure
from gpuplanner.messages import Language, Translator
from gpuplanner.units import Unit

RATE = ["--set", "request_rate=1000000", "--set", "concurrency=null"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("changes", [RATE, ["--set", "concurrency=1000000"]])
def test_a_million_is_written_out_with_separators(user_home, capsys, language, changes):
    main(["--lang", language, "estimate", "chat-8b", "--gpu", "L4", *changes])
    said = capsys.readouterr().out
    assert "1,000,000" in said
    assert not re.search(r"\de\+?\d|1000000", said)


def test_a_range_is_told_in_one_unit(user_home):
    context = Context(Translator(Language.CHINESE))
    across = Figure(1.1, Unit.SECOND, Certainty.CALIBRATED, 0.475, 1.88)
    assert context.range(across) == "0.475–1.88 秒"
