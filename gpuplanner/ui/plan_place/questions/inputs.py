"""What can be typed in or chosen for a question: numbers, one of a few, the 24 rates of a day. Asks nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import Signal, SignalInstance

from gpuplanner.engine.answers.day import HOURS, Shape
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.quantities import Quantity, count, per_second
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fields.field import Field
from gpuplanner.ui.fields.number_field import NumberField
from gpuplanner.ui.fields.text_field import TextField
from gpuplanner.ui.widgets.segmented import Option
from gpuplanner.units import GB
from gpuplanner.workload.reads_data import Storage

Given = float | str | tuple[float, ...]
Typed = Mapping[str, Given]
"""What was typed in or chosen, by the name of the input, numbers in base units; what is empty is not there."""
_BETWEEN = re.compile(r"[,;，；、\s]+")


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few; the first holds until another is chosen. Text: messages `answers.input.<name>.<option>`."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """A number for each hour of a day, with commas or spaces between them."""

    each: Quantity


Input = Quantity | Choice | Rates


def _in(suffix: str, base: float = 1.0, least: float = 0.0, most: float = 1e12, *, none: bool = False) -> Quantity:
    """`none`: the least value is allowed, and means that there is none."""
    return Quantity(
        suffix=lambda _display: suffix, plain=lambda _display: base, least=least, most=most, above_least=not none
    )


def _money(after: str = "", most: float = 1e12, *, none: bool = False) -> Quantity:
    """US dollars, typed and shown in the person's currency; `after` says for what."""
    return Quantity(
        suffix=lambda display: f"{display.currency}{after}",
        plain=lambda display: 1.0 / display.per_usd,
        most=most,
        above_least=not none,
    )


INPUTS: Mapping[str, Input] = {
    "storage": Choice(tuple(storage.value for storage in Storage)),
    "storage_rate": _in("GB/s", GB),
    "readers": count(1, 1024),
    "process_start": _in("s", none=True),
    "engine_start": _in("s", none=True),
    "write_rate": _in("GB/s", GB),
    "failure_days": _in("d", 86400.0),
    "stall": _in("s"),
    "restart": _in("min", 60.0, none=True),
    "repair": _in("h", 3600.0),
    "probability": _in("%", 0.01, least=0.5, most=0.999999, none=True),
    "pue": _in("", least=1.0, most=5.0, none=True),
    "host_watts": _in("W", most=1e5, none=True),
    "usd_per_kwh": _money(most=100.0, none=True),
    "usd_per_hour": _money("/h"),
    "usd_per_gpu_hour": _money("/h"),
    "hours": _in("h", most=1e6),
    "idle": _in("%", 0.01, most=0.99, none=True),
    "storage_gb": _in("GB", GB, none=True),
    "storage_price": _money(none=True),
    "egress_gb": _in("GB", GB, none=True),
    "egress_price": _money(none=True),
    "peak": _in("/s", most=1e6),
    "shape": Choice(tuple(shape.value for shape in Shape)),
    "rates": Rates(per_second(most=1e6)),
    "reserve": _in("%", 0.01, most=0.9, none=True),
    "least": count(0, 1e6),
    "start": _in("s", none=True),
}
"""What can be typed in, within the bounds of the command line; labels: messages `answers.input.<name>`."""


class ChoiceField(Field):
    """`changed` carries the option that was chosen."""

    changed = Signal(str)

    def __init__(self, appearance: Appearance, name: str, choice: Choice) -> None:
        options = [Option(option, msg(f"answers.input.{name}.{option}")) for option in choice.options]
        self.box = ChoiceBox(appearance, options)
        self.box.choose(choice.options[0])
        super().__init__(appearance, msg(f"answers.input.{name}"), self.box)
        self.box.chosen.connect(self.changed)


class RatesField(TextField):
    """`given` carries the rates of the hours, None while there are none that can be used; why not stands below."""

    given = Signal(object)

    def __init__(self, appearance: Appearance, name: str, rates: Rates) -> None:
        self._rates = rates
        self._look = appearance
        super().__init__(
            appearance, msg(f"answers.input.{name}"), empty=msg("answers.input.rates.example"), longest=1000
        )
        self.changed.connect(self._typed)

    def _typed(self, text: str) -> None:
        try:
            found = self._read(text)
        except InputError as fault:
            self.set_problem(fault.message)
            self.given.emit(None)
            return
        self.set_problem(None)
        self.given.emit(found or None)

    def _read(self, text: str) -> tuple[float, ...]:
        parts = [part for part in _BETWEEN.split(text) if part]
        found = tuple(self._rates.each.parse(part, self._look.display) for part in parts)
        if found and len(found) != HOURS:
            raise InputError(msg("answers.day.not_24", count=len(found)))
        return found


def make_field(appearance: Appearance, name: str, empty: Message) -> tuple[Field, SignalInstance]:
    """The field of an input, and the signal that carries what is given in it. `empty` stands in a number's field."""
    match INPUTS[name]:
        case Choice() as choice:
            field = ChoiceField(appearance, name, choice)
            return field, field.changed
        case Rates() as rates:
            several = RatesField(appearance, name, rates)
            return several, several.given
        case quantity:
            number = NumberField(appearance, msg(f"answers.input.{name}"), quantity, empty=empty)
            return number, number.changed
