"""Changes single numbers in the tables of `catalogs/efficiency/`, leaving everything else as it stands."""

import re
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "catalogs" / "efficiency"


def set_value(table: str, holder: Mapping[str, str], name: str, value: float) -> None:
    """Replace a value of the entry that these keys hold, as `{"chip": "GA100", "variant": "16 bits"}`."""
    _replace(table, rf"({_start(holder)}.*?\b{re.escape(name)}: )[^,}}]+", f"{value:.4g}")


def set_points(table: str, holder: Mapping[str, str], points: int) -> None:
    """Replace the number of rows behind an entry."""
    _replace(table, rf"({_start(holder)}points: )\d+", str(points))


def _start(holder: Mapping[str, str]) -> str:
    keys = "".join(rf'{kind}: "?{re.escape(name)}"?, ' for kind, name in holder.items() if name)
    return rf"  - \{{{keys}"


def _replace(table: str, pattern: str, new: str) -> None:
    path = FOLDER / f"{table}.yaml"
    changed, count = re.subn(pattern, lambda m: m[1] + new, path.read_text(encoding="utf-8"), count=1)
    if count != 1:
        raise LookupError(table, pattern)
    path.write_text(changed, encoding="utf-8")
