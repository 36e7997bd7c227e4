"""Tooltips of texts that others wrote: Qt takes a text with tags for HTML, and would draw it."""

from html import escape


def plain_tip(text: str) -> str:
    """The tooltip that shows a text as it stands."""
    if "<" not in text:
        return text
    return "".join(f"<p>{escape(line)}</p>" for line in text.split("\n"))
