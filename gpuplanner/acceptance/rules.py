"""Reads the data of the checks, `catalogs/checks/*.yaml`: thresholds with their sources. Judges nothing."""

from collections.abc import Mapping
from pathlib import Path

from gpuplanner.acceptance.check import CheckRule
from gpuplanner.catalog.files.yaml_file import plain_yaml


def read_rules(folder: Path) -> Mapping[str, CheckRule]:
    """The rules of all files of a folder, by the id of their check. Files of the app itself: a fault in them raises."""
    rules: dict[str, CheckRule] = {}
    for path in sorted(folder.glob("*.yaml")):
        for entry in plain_yaml(path.read_text(encoding="utf-8"))["checks"]:
            rule = CheckRule(
                id=str(entry["id"]),
                version=int(entry["version"]),
                tier=str(entry["tier"]),
                source=str(entry["source"]),
                root=str(entry.get("root", "no")),
                tool=str(entry.get("tool", "")),
                thresholds={str(name): float(value) for name, value in (entry.get("thresholds") or {}).items()},
                codes={str(name): frozenset(map(int, codes)) for name, codes in (entry.get("codes") or {}).items()},
            )
            if rule.id in rules:
                raise ValueError(f"{path.name}: {rule.id} is there twice")
            rules[rule.id] = rule
    return rules
