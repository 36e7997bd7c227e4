"""Sentences that a person has to understand at once: one language, a setting by its name, factors for large shares."""

import re

import pytest

from gpuplanner.cli.main import main
from gpuplanner.messages import Language, Translator, msg

DRAFTED = ("chat-8b", "--gpu", "H100 SXM5 80GB", "--set", "speculation=eagle")
ENGLISH = re.compile(r"\b(?:the|of|for|that|where|with|not|each|from|than|accepted)\b")
"""Words of English that are part of no name of a paper."""


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(list(words))
    streams = capsys.readouterr()
    return streams.out + streams.err


@pytest.mark.parametrize("method", ["n-gram", "draft-model", "eagle", "medusa"])
def test_a_chinese_remark_on_drafting_has_no_english_in_it(user_home, capsys, method):
    draft = ("--set", "draft_model=meta-llama/Llama-3.2-1B") if method == "draft-model" else ()
    out = said(capsys, "--lang", "zh", "estimate", *DRAFTED[:3], "--set", f"speculation={method}", *draft)
    line = next(line for line in out.splitlines() if "接受率是经验值" in line)
    assert not ENGLISH.search(line)


def test_the_documents_that_rules_come_from_are_called_in_the_language_of_the_text(user_home, capsys):
    chinese = said(capsys, "--lang", "zh", "estimate", *DRAFTED[:3], "--all-rules")
    assert "作者与日期未注明" in chinese
    assert "author and date not stated" not in chinese
    rule = said(capsys, "--lang", "zh", "catalog", "show", "selection-not-by-name-alone")
    assert "作者与日期未注明" in rule
    assert "author and date not stated" not in rule
    assert "author and date not stated" in said(capsys, "--lang", "en", "estimate", *DRAFTED[:3])


def test_a_drafting_model_that_is_not_named_is_asked_for_by_its_setting(user_home, capsys):
    asked = ("chat-8b", "--gpu", "L4", "--set", "speculation=draft-model")
    for language in ("en", "zh"):
        assert "--set draft_model=ID" in said(capsys, "--lang", language, "estimate", *asked)
    for language in Language:
        assert "--set" not in Translator(language, face="window").text(msg("serving.no_draft_model"))


def test_what_takes_many_times_as_long_is_not_told_in_per_cent(user_home, capsys):
    """Many requests at once that almost nothing is accepted of."""
    load = ("--set", "concurrency=2000", "--set", "draft_tokens=64", "--set", "acceptance_rate=0.01")
    out = said(capsys, "--lang", "en", "estimate", *DRAFTED, *load)
    assert re.search(r"drafting makes it [\d.]+ times as long", out)
    assert not re.search(r"[\d,]{4,}%", out)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_commands_are_described_alike(user_home, capsys, language):
    out = said(capsys, "--lang", language, "--help")
    described = re.findall(r"^    [a-z]+ {2,}(\S.*)$", out, re.MULTILINE)
    assert len(described) >= 8
    assert not [d for d in described if re.match(r"[A-Z][a-z]", d)]


@pytest.mark.parametrize(("language", "factor"), [("en", r"\(\d+ times as long\)"), ("zh", r"是原来的 \d+ 倍")])
def test_a_link_without_which_a_step_takes_many_times_as_long_is_told_by_a_factor(user_home, capsys, language, factor):
    words = ("pretrain-7b", "--gpu", "H100 SXM5 80GB", "--gpus", "8", "--set", "tensor_parallel=8")
    first = said(capsys, "--lang", language, "ask", "nvlink", *words).splitlines()[0]
    assert re.search(factor, first)
    assert "%" not in first
