"""Every exception to a rule of the linter or of the type checker names the rule and says its reason beside it."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

EXCEPTION = re.compile(r"#\s*(?:noqa|type:\s*ignore|mypy:|ruff:|fmt:|pragma:|pylint:|pyright:)")
WITH_REASON = re.compile(
    r"#\s*(?:noqa: [A-Z]+\d+(?:, [A-Z]+\d+)*\s*(?:--?|\()\s*|type: ignore\[[a-z-]+(?:, [a-z-]+)*\]\s*(?:#|--?|\()\s*)"
    r"\w+(?:\W+\w+)+"
)
LAYOUT_ONLY = re.compile(r"#\s*fmt: (?:skip|off|on)\b")


def without_reason(source: str) -> Iterator[tuple[int, str]]:
    """The comments of a module that make an exception and do not say why."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        exception = token.type == tokenize.COMMENT and EXCEPTION.search(token.string)
        if exception and not LAYOUT_ONLY.match(token.string) and not WITH_REASON.search(token.string):
            yield token.start[0], token.string


def test_every_exception_says_why(project_root: Path):
    found = [
        f"{path.relative_to(project_root)}:{line}: {comment}"
        for part in ("gpuplanner", "tests", "packaging")
        for path in sorted((project_root / part).rglob("*.py"))
        for line, comment in without_reason(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: S506",
        "# type: ignore",
        "# type: ignore[misc]",
        "# noqa: B008 --",
        "# type: ignore[misc]  # x",
    ],
)
def test_one_without_a_reason_is_found(comment):
    assert list(without_reason(f"x = 1  {comment}\n"))


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: S506 (both are safe)",
        "# noqa: B008 -- a frozen value",
        "# type: ignore[misc]  # Qt has two of this name",
    ],
)
def test_one_with_a_reason_is_not(comment):
    assert not list(without_reason(f"x = 1  {comment}\n"))
