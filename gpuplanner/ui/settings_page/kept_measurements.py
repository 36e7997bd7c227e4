"""What a person measured and keeps, in words. Knows no widget, and changes nothing."""

from dataclasses import dataclass
from pathlib import Path

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.engine.own_measurements import Own, site_words
from gpuplanner.messages import Message, msg, without_controls
from gpuplanner.store.own_measurements import read_own
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.plan_place.measured.words import measured_text, run_words
from gpuplanner.workload.model_choice import ModelChoice


@dataclass(frozen=True, slots=True)
class KeptMeasurement:
    """One of them: its file, its day, what it is of and what was measured."""

    measurement: Own
    name: str
    date: str
    of: Message
    measured: str

    @property
    def id(self) -> str:
        """By which it is kept."""
        return self.measurement.id


def kept_measurements(home: Path, catalog: Catalog, appearance: Appearance) -> tuple[KeptMeasurement, ...]:
    """All of them, the latest first. What cannot be read is left out, as in estimates."""

    def model_name(choice: ModelChoice) -> str:
        if choice.architecture is not None:
            return choice.architecture.name
        model = catalog.models.get(choice.catalog_id or "")
        return model.name if model is not None else choice.catalog_id or ""

    found, _wrong = read_own(home)
    latest_first = sorted(found, key=lambda one: (one.date, one.id), reverse=True)
    return tuple(
        KeptMeasurement(
            one,
            without_controls(one.name),
            without_controls(one.date),
            msg(
                "own.window.of",
                run=run_words(one, model_name),
                machine=site_words(one.site, catalog.gpus.get),
            ),
            measured_text(one, appearance),
        )
        for one in latest_first
    )
