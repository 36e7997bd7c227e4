"""Guards over what a person brings in: mistakes that price lists and datasheets really contain. Pure; each says one.

A guard returns a message where it finds its mistake, else None. What follows from it is decided where it is called.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from gpuplanner.catalog.entries import Gpu, GpuProperty, Instance, Price
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.units import GIB, TERA

CHEAPER_PER_GPU = 0.6
"""Below this share of the cheapest smaller offer's price per GPU, a price does not scale with the number of GPUs.

In the shipped lists one offer is below (0.56, doubtful), the next has 0.73; the price of one GPU for two is 0.5."""
DEARER_PER_GPU = 3.0
"""Above this multiple of the dearest smaller offer's price per GPU it does not scale either; 1.4 occurs."""
SEVERAL_GPUS = 4
"""Below this a price near that of one GPU can be a discount."""
MEMORY_TOLERANCE = 0.15
"""Drivers and clouds print up to 7 % less than what is sold, and some print decimal gigabytes (7 %)."""
SMALLEST_MEMORY_BYTES = 0.5 * GIB
PARAMETER_TOLERANCE = 0.03
"""Published counts are rounded: "7B" in a table may be 7.2, but a count given to the digit is not 3 % off."""
DOUBLED = (1.8, 2.2)
LEAST_PRICE = 1e-4
"""Money an hour, in any currency: the smallest slices of GPUs cost hundreds of times as much."""
_RATES = (GpuProperty.BF16_FLOP_PER_S, GpuProperty.FP16_FLOP_PER_S, GpuProperty.FP8_FLOP_PER_S)


def price_of_nothing(value: float) -> Message | None:
    """A price of 0 is a price that is not known, and one of next to nothing is no price."""
    return msg("overlay.price.zero") if value < LEAST_PRICE else None


def price_without_currency(currency: str) -> Message | None:
    """A price without a currency, or in none that exists, cannot be compared with any other."""
    if not currency:
        return msg("overlay.price.no_currency")
    if len(currency) != 3 or not currency.isalpha() or not currency.isascii():
        return msg("overlay.price.bad_currency", value=currency[:20])
    return None


def prices_that_do_not_scale(instances: Iterable[Instance]) -> Iterator[tuple[Instance, Price, Message]]:
    """Prices per GPU far from those of smaller instances of the same provider, GPU, region and terms.

    Eight GPUs at the price of one are a price per GPU; one at the price of eight is a price for the node. A person's
    own prices are held to their own, since they may be agreed at a discount.
    """
    groups: dict[tuple[str | bool, ...], list[tuple[float, Instance, Price]]] = {}
    for instance in instances:
        gpus = _whole_gpus(instance)
        gpu_id = instance.planning_gpu_id
        if gpus is None or gpu_id is None:
            continue
        for price in instance.prices:
            key = (instance.provider, gpu_id, price.region, price.currency, price.kind.value, price.source.user)
            groups.setdefault(key, []).append((gpus, instance, price))
    for members in groups.values():
        members.sort(key=lambda member: member[0])
        yield from _out_of_scale(members)


def _out_of_scale(members: list[tuple[float, Instance, Price]]) -> Iterator[tuple[Instance, Price, Message]]:
    """Those of one group, smallest first, that cost too little or too much beside all that have fewer GPUs."""
    cheapest = dearest = 0.0
    same_size: list[float] = []
    size = 0.0
    for gpus, instance, price in members:
        if gpus > size:
            cheapest = min((cheapest or math.inf, *same_size)) if same_size else cheapest
            dearest = max(dearest, *same_size) if same_size else dearest
            same_size, size = [], gpus
        each = price.per_hour / gpus
        if cheapest and not CHEAPER_PER_GPU * cheapest <= each <= DEARER_PER_GPU * dearest:
            hourly, currency = price.per_hour, price.currency
            usual = cheapest if each < cheapest else dearest
            fault = msg("overlay.price.not_scaling", gpus=gpus, price=hourly, currency=currency, usual=usual)
            yield instance, price, fault
        else:
            same_size.append(each)


def price_of_one_gpu(instance: Instance, price: Price, published: Iterable[Instance]) -> Message | None:
    """A person's price for four GPUs or more that is what the provider asks for one of them."""
    gpus = _whole_gpus(instance)
    if gpus is None or gpus < SEVERAL_GPUS:
        return None
    for other in published:
        if _whole_gpus(other) != 1.0 or other.planning_gpu_id != instance.planning_gpu_id:
            continue
        for single in other.prices:
            same = (single.currency, single.kind) == (price.currency, price.kind) and not single.source.user
            if same and _near(price.per_hour, single.per_hour):
                hourly, currency = price.per_hour, price.currency
                return msg("overlay.price.of_one", gpus=gpus, price=hourly, currency=currency, offer=other.name)
    return None


def _whole_gpus(instance: Instance) -> float | None:
    share = instance.gpu_fraction
    # Comparing fractions with `<` takes ten times as long, and there may be 100,000 of them.
    if instance.gpu_count is None or share is None or share.numerator < share.denominator:
        return None
    return float(instance.gpu_count)


def memory_of_another_kind(stated_bytes: float, gpu: Gpu, count: int | None, share: Fraction | None) -> Message | None:
    """Memory "per GPU" that is really that of all GPUs of the machine, or the BAR1 window, or another card's."""
    known = gpu.known(GpuProperty.MEMORY_BYTES)
    if known is None:
        return None
    each = known.value * float(share or 1)
    values: dict[str, MessageValue] = {"stated": stated_bytes / GIB, "gpu": gpu.name, "each": each / GIB}
    if _near(stated_bytes, each) or any(_near(stated_bytes, other.value) for other in known.others):
        return None
    if count and count > 1 and _near(stated_bytes, count * each):
        return msg("overlay.memory.total", count=count, **values)
    if stated_bytes < SMALLEST_MEMORY_BYTES or _is_bar1(stated_bytes, each):
        return msg("overlay.memory.bar1", **values)
    return msg("overlay.memory.other", **values)


def _near(value: float, expected: float) -> bool:
    return abs(value / expected - 1.0) <= MEMORY_TOLERANCE


def _is_bar1(stated_bytes: float, memory_bytes: float) -> bool:
    """Whether this is the BAR1 window of a data-centre card: the next power of two of its memory, or 256 MiB."""
    gib = stated_bytes / GIB
    power_of_two = gib >= 1 and gib == int(gib) and int(gib) & (int(gib) - 1) == 0
    return power_of_two and 1.0 < stated_bytes / memory_bytes <= 2.0


def rate_that_is_doubled(gpu: Gpu, catalog: Mapping[str, Gpu]) -> Message | None:
    """A dense tensor rate of about twice the most that any GPU of the same chip or architecture has."""
    peers = _peers(gpu, catalog)
    for name in _RATES:
        mine = gpu.known(name)
        known = [value.value for peer in peers if (value := peer.known(name))]
        if mine is None or not known:
            continue
        most = max(known)
        if DOUBLED[0] <= mine.value / most <= DOUBLED[1]:
            like = gpu.chip or gpu.architecture or gpu.name
            return msg("overlay.rate.doubled", value=mine.value / TERA, most=most / TERA, like=like)
    return None


def _peers(gpu: Gpu, catalog: Mapping[str, Gpu]) -> list[Gpu]:
    """What to compare with: the same entry, else GPUs of the same chip, of the same capability, of the architecture."""
    if gpu.id in catalog:
        return [catalog[gpu.id]]
    for attribute in ("chip", "compute_capability", "architecture"):
        wanted = getattr(gpu, attribute)
        found = [other for other in catalog.values() if wanted and getattr(other, attribute) == wanted]
        if found:
            return found
    return []


def parameters_that_contradict(stated: float, computed: float) -> Message | None:
    """A parameter count that the model's own configuration does not give."""
    if abs(stated / computed - 1.0) <= PARAMETER_TOLERANCE:
        return None
    return msg("overlay.model.parameters", stated=stated / 1e9, computed=computed / 1e9)
