"""Every figure of an estimate by an id, so that what is explained can be found again in the next estimate.

`metric.<id>`, `memory.needed|reserved|usable`, `memory.<phase>.<part>`, `time.<part>`, `host.<need>`.
"""

from gpuplanner.engine.estimate import Estimate
from gpuplanner.figures import Figure
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.plan_place.captions import metric_name, named

NEEDED = "memory.needed"
TOTALS = ("needed", "reserved", "usable")


def figure_of(estimate: Estimate, figure_id: str) -> Figure | None:
    """The figure, or None when this estimate has none of that id."""
    kind, _, rest = figure_id.partition(".")
    match kind:
        case "metric":
            return estimate.metrics.get(rest)
        case "memory" if rest in TOTALS:
            figure: Figure = getattr(estimate.memory, rest)
            return figure
        case "memory":
            phase_id, _, part_id = rest.partition(".")
            phase = next((p for p in estimate.memory.phases if p.id == phase_id), None)
            return next((p.figure for p in phase.parts if p.id == part_id), None) if phase else None
        case "time":
            return next((p.figure for p in estimate.time if p.id == rest), None)
        case _:
            return next((n.need for n in estimate.host if n.id == rest), None)


def short_name_of(figure_id: str, appearance: Appearance) -> str:
    """What a figure is called where there is little room: in front, in columns."""
    if figure_id == NEEDED:
        return appearance.text("planui.memory_short")
    kind, _, rest = figure_id.partition(".")
    short = f"planui.short.{rest}"
    if kind == "metric" and appearance.translator.has(short):
        return appearance.text(short)
    return name_of(figure_id, appearance)


def meaning_of(figure_id: str, appearance: Appearance) -> str:
    """What a figure counts, where its short name does not say all of it; else nothing."""
    meaning = f"planui.short.{figure_id.removeprefix('metric.')}.tip"
    return appearance.text(meaning) if appearance.translator.has(meaning) else ""


def name_of(figure_id: str, appearance: Appearance) -> str:
    """What a figure is called."""
    kind, _, rest = figure_id.partition(".")
    match kind:
        case "metric":
            return metric_name(rest, appearance)
        case "memory" if rest == "needed":
            return appearance.text("planui.memory_each")
        case "memory" if rest in TOTALS:
            return appearance.text(f"memory.{rest}")
        case "memory":
            return named("part", rest.partition(".")[2], appearance)
        case "time":
            return named("part", rest, appearance)
        case _:
            return named("host", rest, appearance)
