"""Who offers a GPU, and for how much an hour: instances of the catalog with their prices in US dollars. No Qt."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import Instance, Price
from gpuplanner.catalog.table.contents import Prices
from gpuplanner.ui.catalog_place.query import by_name


@dataclass(frozen=True, slots=True)
class Offer:
    """An instance with a GPU. `usd_per_hour` is for all of it, `usd_per_gpu` for one whole GPU; None is not known.

    `certain` is false where the provider's words fit several GPUs, of which this is one.
    """

    instance: Instance
    price: Price | None
    usd_per_hour: float | None
    usd_per_gpu: float | None
    certain: bool = True


class Offers:
    """The offers of every GPU: the cheapest first, those without a price last."""

    def __init__(self, catalog: Catalog) -> None:
        prices = Prices(catalog)
        found: dict[str, list[Offer]] = defaultdict(list)
        for instance in catalog.instances.values():
            certain = instance.gpu_id is not None
            each = prices.of_one_gpu(instance)
            offer = Offer(instance, instance.price(), prices.of(instance), each, certain)
            for gpu_id in (instance.gpu_id,) if instance.gpu_id else instance.gpu_may_be:
                found[gpu_id].append(offer)
        self._offers: Mapping[str, tuple[Offer, ...]] = {
            gpu_id: tuple(sorted(offers, key=_rank)) for gpu_id, offers in found.items()
        }

    def of(self, gpu_id: str) -> tuple[Offer, ...]:
        """The offers of one GPU."""
        return self._offers.get(gpu_id, ())

    def cheapest(self, gpu_id: str) -> Offer | None:
        """The offer with the least price of one GPU, None where no price is known."""
        return next((o for o in self.of(gpu_id) if o.certain and o.usd_per_gpu is not None), None)


def _rank(offer: Offer) -> tuple[bool, float, tuple[str, str]]:
    known = offer.usd_per_gpu if offer.usd_per_gpu is not None else offer.usd_per_hour
    return known is None or not offer.certain, known or 0.0, by_name(offer.instance.name)
