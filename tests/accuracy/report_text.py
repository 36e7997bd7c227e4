"""The text of ACCURACY.md from the figures that `docs/accuracy/` keeps. No estimate is made and nothing is written."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from tests.accuracy.aims import TARGETS, plot_name
from tests.accuracy.carry_measurements import ROOT

FOLDER = ROOT / "docs" / "accuracy"
BELIEVED = Path(__file__).resolve().parent / "believed_wrong.yaml"
NONE = "–"


def read_table(name: str) -> list[dict[str, str]]:
    """What is kept under `docs/accuracy/`."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rendered() -> str:
    """The report from the figures that are kept; no estimate is made."""
    lines = read_table("figures")
    believed = yaml.safe_load(BELIEVED.read_text(encoding="utf-8"))
    over_all = {(line["family"], line["metric"]): line for line in reversed(lines)}
    parts = [
        HEAD,
        aims(over_all),
        short(lines, believed["short"]),
        gaps(believed["gaps"]),
        pictures(over_all),
        baseline(over_all),
        beside_peers(read_table("peers")),
        fits(read_table("verdicts")),
        worst_rows(read_table("worst"), believed["rows"]),
        by_source(lines),
        refused(read_table("refused")),
    ]
    return "\n\n".join(parts) + "\n"


HEAD = """# How accurate the estimates are

Every number here comes from `make accuracy`: all public measurements of `catalogs/measurements/` (each with its source)
beside what gpuplanner says for the same run. `gpuplanner validate FILE…` does the same for files of your own.

- A deviation is |ln(predicted / measured)|: 0.10 is about 10 %, and twice too much weighs as half too little.
- Medians and ninetieth percentiles give each source the same weight, so that no long table speaks
  for the rest.
- *Left out*: each source predicted with efficiencies fitted to the other sources alone (`make accuracy-fit`). Rows that
  no fit uses have no number there; in the column before they are unseen as well.
- Collectives and speech are fitted and have no number there either: each of their sources is the only one of its links
  or its program, so that none can be left out. What stands in the column before is of rows that were fitted.
- *In range*: the share of measured values inside the range shown, which is nominally 80 %.
- *Baseline*: the median utilisation of the other runs of the same GPU, kind and precision, for every run of that kind.
- A dash is no number: nothing of that kind was measured, or nothing stands behind it."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; all columns but the first `left` to the right."""
    marks = ["---"] * left + ["---:"] * (len(header) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, marks, *rows))


def number(text: str) -> str:
    """A deviation as shown."""
    return f"{float(text):.3f}" if text else NONE


def share(text: str) -> str:
    """A share as shown."""
    return f"{float(text):.0%}" if text else NONE


def aims(over_all: Mapping[tuple[str, str], Mapping[str, str]]) -> str:
    """The table of what is aimed at, and what is reached."""
    rows = []
    for target in TARGETS:
        line = over_all.get((target.family, target.metric))
        aim = f"≤ {target.median:g}" + (f", p90 ≤ {target.p90:g}" if target.p90 else "")
        aim += f", each source ≤ {target.each_source:g}" if target.each_source else ""
        if line is None or not line["median"]:
            rows.append((target.what, line["rows"] if line else "0", aim, *[NONE] * 6))
            continue
        rows.append(
            (
                target.what, str(int(line["rows"]) - int(line["refused"])), aim, number(line["median"]),
                number(line["p90"]), share(line["inside"]), number(line["left_median"]), number(line["left_p90"]),
                share(line["left_inside"]),
            )
        )  # fmt: skip
    header = (
        "what", "numbers", "aim: median", "median", "p90", "in range", "left out: median", "left out: p90",
        "left out: in range",
    )  # fmt: skip
    return "## What is aimed at, and what is reached\n\n" + table(header, rows)


def short(lines: Iterable[Mapping[str, str]], reasons: Mapping[str, str]) -> str:
    """What misses its aim, by how much, why, and what would settle it: a family, or one source of it."""
    targets = {(target.family, target.metric): target for target in TARGETS}
    rows = []
    for line in lines:
        target, source = targets.get((line["family"], line["metric"])), line["source"]
        if target is None or not line["median"]:
            continue
        aim, tail = (target.each_source, None) if source else (target.median, target.p90)
        reached = float(line["left_median"] or line["median"])
        p90 = float(line["left_p90"] or line["p90"])
        if (aim is None or reached <= aim) and (tail is None or p90 <= tail):
            continue
        said = reasons.get(" ".join(filter(None, (target.family, target.metric, source))), "Not understood yet.")
        rows.append((f"{target.what}, {source} alone" if source else target.what, f"{reached:.3f} / {p90:.3f}", said))
    if not rows:
        return "## What stays short of its aim\n\nNothing."
    header = ("what", "median / p90", "why, and what would settle it")
    return "## What stays short of its aim\n\n" + table(header, rows, left=3)


def gaps(known: Iterable[Mapping[str, str]]) -> str:
    """What rows show that no formula explains yet, whether or not an aim is missed by it."""
    rows = [(gap["what"], gap["rows"], gap["seen"].strip(), gap["settles"].strip()) for gap in known]
    header = ("what", "rows", "what is seen", "what would settle it")
    return "## What a mechanism should explain and does not yet\n\n" + table(header, rows, left=4)


def pictures(over_all: Mapping[tuple[str, str], Mapping[str, str]]) -> str:
    """The plots, two beside each other."""
    shown = [t for t in TARGETS if (line := over_all.get((t.family, t.metric))) and line["median"]]
    images = [f'<img src="docs/accuracy/{plot_name(t.family, t.metric)}" width="49%" alt="{t.what}">' for t in shown]
    text = (
        "Solid: predicted as measured. Dashed: a quarter too much or as much too little. Numbers of rows in brackets."
    )
    return "\n".join(("## Predicted against measured", "", text, "", *images))


def baseline(over_all: Mapping[tuple[str, str], Mapping[str, str]]) -> str:
    """The constant utilisation on the rows that have one."""
    rows = [
        (family, metric, line["baseline_rows"], number(line["beside_baseline"]), number(line["baseline_median"]),
         number(line["baseline_p90"]))
        for (family, metric), line in sorted(over_all.items())
        if line["baseline_median"]
    ]  # fmt: skip
    header = ("family", "column", "numbers", "ours: median", "baseline: median", "baseline: p90")
    return "## Beside a constant utilisation, on the same rows\n\n" + table(header, rows, left=2)


def beside_peers(rows: Sequence[Mapping[str, str]]) -> str:
    """Other estimators on the rows that they cover."""
    told = [
        (row["peer"], row["family"], row["metric"], row["rows"], number(row["ours"]), number(row["ours_p90"]),
         number(row["median"]), number(row["p90"]))
        for row in rows
    ]  # fmt: skip
    header = ("peer", "family", "column", "numbers", "ours: median", "ours: p90", "peer: median", "peer: p90")
    text = (
        "Each was asked for the rows that it has a way to be asked for (`tests/accuracy/peers.py` says how), with its "
        "own defaults where a row leaves something open. Ours is on the same rows, to which it is fitted: what it "
        "gives without their source stands above. llm-analysis is given a utilisation of 0.5, as its own notes suggest."
    )
    return f"## Beside other estimators\n\n{text}\n\n" + table(header, told, left=3)


def fits(rows: Sequence[Mapping[str, str]]) -> str:
    """Fits or not."""
    told = [(row["family"], row["rows"], share(row["right"])) for row in rows]
    text = "Runs of which it is known whether they fit; the aim is 95 %."
    return f"## Fits or not\n\n{text}\n\n" + table(("family", "runs", "told right"), told)


def reason_of(row: Mapping[str, str], believed: Iterable[Mapping[str, Any]]) -> str:
    """What is believed wrong with a row; empty where nobody said."""
    for entry in believed:
        same = entry["file"] == row["file"] and entry.get("metric", row["metric"]) == row["metric"]
        if same and any(fnmatchcase(row["id"], pattern) for pattern in entry["ids"]):
            return str(entry["why"])
    return ""


def worst_rows(rows: Sequence[Mapping[str, str]], believed: Sequence[Mapping[str, Any]]) -> str:
    """The rows that are furthest off, each with its worst column."""
    told = [
        (row["id"], row["source"], row["metric"], row["measured"], row["predicted"], f"{float(row['log_ratio']):+.2f}",
         reason_of(row, believed))
        for row in rows
    ]  # fmt: skip
    header = ("row", "source", "column", "measured", "predicted", "ln ratio", "what is believed wrong")
    marks = "| --- | --- | --- | ---: | ---: | ---: | --- |"
    lines = table(header, told, left=3).splitlines()
    said = (
        "Each with its worst column; of one family, source and column no more than three, which mostly have one reason."
    )
    return f"## The {len(told)} rows that are furthest off\n\n{said}\n\n" + "\n".join((lines[0], marks, *lines[2:]))


def by_source(lines: Sequence[Mapping[str, str]]) -> str:
    """Every family and source, folded away."""
    told = [
        (line["family"], line["metric"], line["source"] or "*all, each source once*", line["rows"], line["refused"],
         number(line["median"]), number(line["p90"]), f"{float(line['bias']):+.3f}" if line["bias"] else NONE,
         share(line["inside"]), number(line["left_median"]), number(line["baseline_median"]))
        for line in lines
        if line["median"]
    ]  # fmt: skip
    header = (
        "family", "column", "source", "rows", "refused", "median", "p90", "bias", "in range", "left out: median",
        "baseline",
    )  # fmt: skip
    return (
        f"## By source\n\n<details><summary>{len(told)} lines</summary>\n\n{table(header, told, left=3)}\n\n</details>"
    )


def refused(rows: Sequence[Mapping[str, str]]) -> str:
    """What got no number, and why."""
    told = [(row["family"], row["why"].replace("|", "/"), row["numbers"]) for row in rows]
    header = ("family", "why", "numbers")
    total = sum(int(row["numbers"]) for row in rows)
    folded = f"<details><summary>{total} numbers</summary>\n\n{table(header, told, left=2)}\n\n</details>"
    return f"## What got no number\n\n{folded}"
