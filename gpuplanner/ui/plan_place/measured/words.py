"""What a measurement is of and what it says, in words: for the card that asks and for the list of what is kept."""

from collections.abc import Callable, Iterator

from gpuplanner.engine.own_links import OwnLink
from gpuplanner.engine.own_measurements import UNITS, Own
from gpuplanner.engine.own_parts import UNITS as PART_UNITS
from gpuplanner.engine.own_parts import OwnParts
from gpuplanner.engine.own_runs import LINK, Understood
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.plan_place.captions import metric_name
from gpuplanner.ui.plan_place.wizard.fields import choice_text
from gpuplanner.ui.widgets.key_value import Row
from gpuplanner.units import Unit, digits
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training

ModelName = Callable[[ModelChoice], str]


def run_words(measurement: Own, model_name: ModelName) -> Message:
    """What was measured: model, software and load; of links what they are."""
    if isinstance(measurement, OwnLink):
        return msg("own.window.links", ranks=round(measurement.ranks))
    if isinstance(measurement, OwnParts):
        return msg("own.window.parts")
    workload = measurement.plan.workload
    if isinstance(workload, Serving):
        load = msg("own.window.at_once", count=workload.concurrency or 0)
        if workload.concurrency is None:
            load = msg("own.window.a_second", rate=digits(workload.request_rate or 0.0))
        return msg(
            "own.window.serving",
            model=model_name(workload.model),
            server=choice_text(workload.server),
            input=f"{workload.input_tokens:,}",
            output=f"{workload.output_tokens:,}",
            load=load,
        )
    if isinstance(workload, Training):
        return msg(
            "own.window.training",
            model=model_name(workload.model),
            framework=choice_text(workload.framework),
            method=choice_text(workload.method),
            length=f"{workload.sequence_length:,}",
            batch=f"{workload.global_batch:,}",
        )
    return msg(f"planui.kind.{workload.kind}")


def measured_rows(understood: Understood, appearance: Appearance) -> Iterator[Row]:
    """What was measured, each with what is estimated and by how much it is off."""
    kept, made = understood.measurement, understood.estimate
    if isinstance(kept, OwnParts):
        for name, rate in kept.shown.items():
            known = understood.factors.get(name)
            of = msg("own.window.part_factor", factor=f"{known:.2f}") if known else msg("own.window.part_known")
            yield Row(msg(f"own.parts.{name}"), str(appearance.show(rate, PART_UNITS[name])), of)
        return
    if isinstance(kept, OwnLink) or made is None:
        factor = understood.factors[LINK]
        note = msg("own.window.link_factor", factor=f"{factor:.2f}")
        yield Row(msg("own.window.busbw"), _rate(kept, appearance), note)
        return
    for name, factor in understood.factors.items():
        figure = made.metrics[name]
        said = str(appearance.show(figure.value, figure.unit))
        note = msg("own.window.estimated", value=said, factor=f"{factor:.2f}")
        yield Row(metric_name(name, appearance), str(appearance.show(kept.measured[name], figure.unit)), note)


def measured_text(measurement: Own, appearance: Appearance) -> str:
    """What was measured, in a line."""
    if isinstance(measurement, OwnLink):
        return f"{appearance.text('own.window.busbw')} {_rate(measurement, appearance)}"
    if isinstance(measurement, OwnParts):
        return " · ".join(
            f"{appearance.text(f'own.parts.{name}')} {appearance.show(rate, PART_UNITS[name])}"
            for name, rate in measurement.shown.items()
        )
    return " · ".join(
        f"{metric_name(name, appearance)} {appearance.show(value, UNITS.get(name, Unit.TOKEN_PER_S))}"
        for name, value in measurement.measured.items()
    )


def _rate(measurement: Own, appearance: Appearance) -> MessageValue:
    rate = measurement.bus_bytes_per_s if isinstance(measurement, OwnLink) else 0.0
    return str(appearance.show(rate, Unit.BYTE_PER_S))
