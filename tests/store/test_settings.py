"""Settings: kept across sessions, and never a reason not to start."""

from pathlib import Path

import pytest

from gpuplanner.store.settings import LANGUAGE, MEMORY, Settings
from gpuplanner.store.store import open_store


def test_what_was_chosen_is_kept_and_can_be_reset(tmp_path: Path) -> None:
    settings = Settings(open_store(tmp_path))
    assert settings.get(LANGUAGE) == "system"
    settings.set(LANGUAGE, "zh_CN")
    again = Settings(open_store(tmp_path))
    assert again.get(LANGUAGE) == "zh_CN"
    again.reset(LANGUAGE)
    assert settings.get(LANGUAGE) == "system"


def test_a_value_that_is_not_a_choice_is_refused_when_set_and_passed_over_when_read(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    settings = Settings(store)
    with pytest.raises(ValueError, match="memory"):
        settings.set(MEMORY, "KB")
    settings.keep("memory", "KB")
    assert settings.get(MEMORY) == "GiB"
    store.write(lambda db: db.execute("UPDATE settings SET value = '{broken'"))
    assert settings.get(MEMORY) == "GiB"


def test_layout_can_be_forgotten_without_the_settings(tmp_path: Path) -> None:
    settings = Settings(open_store(tmp_path))
    settings.set(MEMORY, "GB")
    settings.keep("window.splitter", [1, 2, 3])
    settings.forget("window.")
    assert settings.kept("window.splitter") is None
    assert settings.get(MEMORY) == "GB"
