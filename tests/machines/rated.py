"""Rates built by hand and what is drawn of them, for the tests of the charts and of the command."""

from typing import Any

from gpuplanner.acceptance.promised import NOTHING, Promised
from gpuplanner.catalog.efficiency import read_efficiencies
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.machines.rates.chart import Line, RateChart, Role
from gpuplanner.machines.rates.known import Known
from gpuplanner.messages import Language, Message, Translator
from gpuplanner.paths import shipped
from gpuplanner.probe.evidence.measured import Bandwidth, CollectiveRow, CollectiveRun
from tests.acceptance.judged import RULES

EFFICIENCIES = read_efficiencies(shipped("catalogs") / "efficiency")
CATALOG = load_catalog(shipped("catalogs"))
H100_SXM = CATALOG.gpus["nvidia-h100-sxm5-80gb"]
ENGLISH, CHINESE = Translator(Language.ENGLISH), Translator(Language.CHINESE)


def known(promised: Promised = NOTHING, **more: Any) -> Known:
    """What rates are held against."""
    return Known(promised, RULES, EFFICIENCIES, **more)


def copies(path: Any, by_gpu: dict[int, float], **more: Any) -> tuple[Bandwidth, ...]:
    """A copy of each GPU, in 10⁹ bytes/s."""
    end = "target" if path == "host_to_device" else "source"
    return tuple(Bandwidth(path=path, gb_per_s=rate, tool="tool", **{end: gpu}, **more) for gpu, rate in by_gpu.items())


def all_reduce(rates: dict[float, float], ranks: int | None = 8, **more: Any) -> CollectiveRun:
    """A run of all-reduces: bus bandwidth by message size."""
    rows = tuple(CollectiveRow(bytes=size, bus_gb_per_s=rate) for size, rate in rates.items())
    return CollectiveRun(collective="all_reduce", ranks=ranks, rows=rows, **more)


def lines(chart: RateChart | None, role: Role) -> list[Line]:
    """The lines of a role. Also that every word of the chart can be said in both languages."""
    assert chart is not None
    for language in (ENGLISH, CHINESE):
        for word in (chart.title, chart.note, *chart.labels, *chart.absent):
            assert not isinstance(word, Message) or language.text(word)
        for line in chart.lines:
            for said in (line.name, line.source, *(point.name for point in line.points)):
                assert not isinstance(said, Message) or language.text(said)
    return [line for line in chart.lines if line.role is role]


def absent(chart: RateChart | None) -> list[str]:
    """The ids of what a chart says is not there."""
    return [message.id.removeprefix("rates.absent.") for message in chart.absent] if chart else []
