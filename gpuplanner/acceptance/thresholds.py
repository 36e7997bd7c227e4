"""Thresholds of a rule, whatever it is a rule for. Reads none."""

from collections.abc import Mapping


class Thresholds:
    """`rule["name"]` is a threshold of a rule, in the unit that its name says. A rule without it is a fault of ours."""

    __slots__ = ()
    thresholds: Mapping[str, float]

    def __getitem__(self, name: str) -> float:
        return self.thresholds[name]
