"""Reads the data of the causes, `catalogs/diagnosis/*.yaml`. Looks for none of them."""

from collections.abc import Mapping
from pathlib import Path

from gpuplanner.acceptance.diagnosis.finding import CauseRule, Certainty
from gpuplanner.catalog.files.yaml_file import plain_yaml


def read_causes(folder: Path) -> Mapping[str, CauseRule]:
    """The rules of all causes by id, in their order. Files of the app itself: a fault in them raises."""
    rules: dict[str, CauseRule] = {}
    for path in sorted(folder.glob("*.yaml")):
        for entry in plain_yaml(path.read_text(encoding="utf-8"))["causes"]:
            rule = CauseRule(
                id=str(entry["id"]),
                source=str(entry["source"]),
                confirm=str(entry["confirm"]),
                order=len(rules),
                certainty=Certainty[str(entry.get("certainty", "shown")).upper()],
                explains=tuple(str(check) for check in entry.get("explains") or ()),
                judged={
                    str(check): tuple(str(reason) for reason in reasons or ())
                    for check, reasons in (entry.get("judged") or {}).items()
                },
                thresholds={str(name): float(value) for name, value in (entry.get("thresholds") or {}).items()},
            )
            if rule.id in rules:
                raise ValueError(f"{path.name}: {rule.id} is there twice")
            rules[rule.id] = rule
    return rules
