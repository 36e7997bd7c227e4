"""The model that drafts for another, by what it can do: one that continues no text is refused."""

import pytest

from gpuplanner.cli.main import main

DRAFTED = ["--set", "speculation=draft-model"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("draft", ["whisper-large-v3", "google-bert/bert-base-uncased", "google-t5/t5-small"])
@pytest.mark.parametrize(
    "command", [["estimate", "drafted-70b", "--gpu", "4x H100 SXM5 80GB"], ["recommend", "chat-8b"]]
)
def test_what_continues_no_text_cannot_draft(user_home, capsys, language, draft, command):
    assert main(["--lang", language, *command, *DRAFTED, "--set", f"draft_model={draft}"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "draft_model" in captured.err


def test_a_language_model_can(user_home, capsys):
    command = ["--lang", "en", "estimate", "drafted-70b", "--gpu", "4x H100 SXM5 80GB", *DRAFTED]
    assert main([*command, "--set", "draft_model=meta-llama/Llama-3.2-1B"]) == 0
    assert capsys.readouterr().err == ""
