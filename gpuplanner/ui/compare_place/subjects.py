"""What is compared: a pin with the entries of the catalog behind it. No Qt."""

from collections.abc import Callable
from dataclasses import dataclass

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import Gpu, Instance, Model
from gpuplanner.catalog.table.contents import Prices
from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.catalog_place.offers import Offers
from gpuplanner.ui.pins import Pin, PinKind, PinnedCandidate


@dataclass(frozen=True, slots=True)
class Subject:
    """One column of the comparison. What does not apply to it, or is not in the catalog any more, is None.

    `plan` is what the plan of a candidate is called. `offer` is the instance whose price counts: the cheapest one with
    a GPU, or the instance itself.
    """

    pin: Pin
    title: str
    about: tuple[MessageValue, ...]
    gpu: Gpu | None = None
    instance: Instance | None = None
    model: Model | None = None
    candidate: PinnedCandidate | None = None
    plan: MessageValue = ""
    usd_per_hour: float | None = None
    usd_per_gpu: float | None = None
    offer: Instance | None = None

    @property
    def gpus(self) -> float | None:
        """How many GPUs it has in all, shares of one counted as such; None for a GPU or a model alone."""
        if self.candidate is not None:
            return float(self.candidate.gpus)
        instance = self.instance
        if instance is None or instance.gpu_count is None or instance.gpu_fraction is None:
            return None
        return instance.gpu_count * float(instance.gpu_fraction)

    @property
    def own(self) -> bool:
        """Whether the entry is from a person's own file."""
        return any(entry is not None and entry.user for entry in (self.instance or self.gpu, self.model))

    @property
    def plan_path(self) -> str | None:
        """Where in the Plan place one plans with it; None where that cannot be done."""
        match self.pin.kind:
            case PinKind.MODEL:
                return f"with/model/{self.pin.id}" if self.model is not None and self.model.architecture else None
            case PinKind.INSTANCE:
                return f"with/instance/{self.pin.id}" if self.gpu is not None else None
            case PinKind.CANDIDATE if self.instance is not None:
                return f"with/instance/{self.instance.id}"
            case _:
                return f"with/gpu/{self.gpu.id}" if self.gpu is not None else None


class SubjectReader:
    """Looks up what stands behind pins. Made once for a catalog, in another thread."""

    def __init__(self, catalog: Catalog, plan_title: Callable[[str], MessageValue] = str) -> None:
        """`plan_title` says what a plan is called that has this name."""
        self._catalog = catalog
        self._plan_title = plan_title
        self._prices = Prices(catalog)
        self._offers = Offers(catalog)

    def subject(self, pin: Pin) -> Subject:
        """The column of a pin."""
        match pin.kind:
            case PinKind.GPU:
                return self._of_gpu(pin)
            case PinKind.INSTANCE:
                return self._of_instance(pin)
            case PinKind.MODEL:
                return self._of_model(pin)
            case PinKind.CANDIDATE:
                return self._of_candidate(pin)

    def _of_gpu(self, pin: Pin) -> Subject:
        gpu = self._catalog.gpus.get(pin.id)
        if gpu is None:
            return _gone(pin)
        cheapest = self._offers.cheapest(gpu.id)
        return Subject(
            pin,
            gpu.name,
            (msg("compareui.kind.gpu"), gpu.vendor),
            gpu,
            usd_per_gpu=self._prices.cheapest_gpu(gpu),
            offer=cheapest.instance if cheapest is not None else None,
        )

    def _of_instance(self, pin: Pin) -> Subject:
        instance = self._catalog.instances.get(pin.id)
        if instance is None:
            return _gone(pin)
        return Subject(
            pin,
            instance.name,
            (msg("compareui.kind.instance"), instance.provider),
            self._prices.gpu_of(instance),
            instance,
            usd_per_hour=self._prices.of(instance),
            usd_per_gpu=self._prices.of_one_gpu(instance),
            offer=instance,
        )

    def _of_model(self, pin: Pin) -> Subject:
        model = self._catalog.models.get(pin.id)
        if model is None:
            return _gone(pin)
        return Subject(pin, model.name, (msg(f"model.kind.{model.kind}"), model.family), model=model)

    def _of_candidate(self, pin: Pin) -> Subject:
        candidate = pin.candidate
        if candidate is None:
            return _gone(pin)
        instance = self._catalog.instances.get(candidate.instance_id)
        usd_per_hour = candidate.metrics.get("usd_per_hour")
        plan = self._plan_title(candidate.plan) if candidate.plan else msg("compareui.plan.unnamed")
        return Subject(
            pin,
            candidate.title,
            (_offer(candidate, instance), plan),
            self._catalog.gpus.get(candidate.gpu_id),
            instance,
            candidate=candidate,
            plan=plan,
            usd_per_hour=usd_per_hour,
            usd_per_gpu=usd_per_hour / candidate.gpus if usd_per_hour is not None else None,
            offer=instance,
        )


def _offer(candidate: PinnedCandidate, instance: Instance | None) -> MessageValue:
    if instance is None:
        return msg("compareui.bought")
    name = f"{instance.provider} {instance.name}"
    return name if candidate.nodes == 1 else f"{candidate.nodes} × {name}"


def _gone(pin: Pin) -> Subject:
    return Subject(pin, pin.id, (msg("compareui.gone"),))
