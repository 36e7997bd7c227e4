"""What stands in the catalog's tables: the columns of GPUs, instances and models, and how each is read off an entry.

A value that is not known is None: never 0, never a guess. Prices are in US dollars at the catalog's dated rates.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from gpuplanner.catalog.architecture import INDEX_BITS, ModelArchitecture
from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import Gpu, GpuProperty, Instance, InstanceProperty, Model, PriceKind
from gpuplanner.catalog.table.columns import Column, ColumnKind
from gpuplanner.catalog.table.values import Cell
from gpuplanner.units import GIB, TERA, Unit

Entry = TypeVar("Entry", bound=Gpu | Instance | Model)

_KV_BYTES = 2.0
"""Of one number in a KV cache kept at 16 bits."""

_TEXT, _DATE, _NUMBER = ColumnKind.TEXT, ColumnKind.DATE, ColumnKind.NUMBER


@dataclass(frozen=True, slots=True)
class Table(Generic[Entry]):
    """A table: its columns, and for each how it is read. `entries` come in the order of the catalog."""

    id: str
    entries: Mapping[str, Entry]
    readers: Mapping[Column, Callable[[Entry], Cell]]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in their usual order."""
        return tuple(self.readers)


class Prices:
    """Prices of instances in US dollars, and what they come to for one GPU."""

    def __init__(self, catalog: Catalog) -> None:
        self._rates = {code: rate.per_usd for code, rate in catalog.currencies.items()} | {"USD": 1.0}
        self._gpus = catalog.gpus
        self._cheapest: dict[str, float] = {}
        self._offers: Counter[str] = Counter()
        for instance in catalog.instances.values():
            if instance.gpu_id is not None:
                self._offers[instance.gpu_id] += 1
                each = self.of_one_gpu(instance)
                if each is not None:
                    self._cheapest[instance.gpu_id] = min(each, self._cheapest.get(instance.gpu_id, each))

    def of(self, instance: Instance, kind: PriceKind = PriceKind.ON_DEMAND) -> float | None:
        """What the instance costs for one hour; None without a price, or without a rate for its currency."""
        price = instance.price(kind)
        rate = self._rates.get(price.currency) if price else None
        return price.per_hour / rate if price and rate and price.per_hour > 0 else None

    def of_one_gpu(self, instance: Instance) -> float | None:
        """What one whole GPU comes to for an hour. None for the price of an accelerator without its host."""
        price = self.of(instance)
        if price is None or not instance.gpu_count or not instance.gpu_fraction or instance.is_attachable:
            return None
        return price / (instance.gpu_count * float(instance.gpu_fraction))

    def cheapest_gpu(self, gpu: Gpu) -> float | None:
        """The least that any offer of the catalog asks for one of these GPUs for an hour."""
        return self._cheapest.get(gpu.id)

    def offers(self, gpu: Gpu) -> int:
        """How many instances have it."""
        return self._offers[gpu.id]

    def gpu_of(self, instance: Instance) -> Gpu | None:
        """The GPU of an instance, where it names one of the catalog."""
        return self._gpus.get(instance.gpu_id or "")


def gpu_table(catalog: Catalog, prices: Prices) -> Table[Gpu]:
    """All GPUs."""
    known: dict[GpuProperty, Unit] = {
        GpuProperty.MEMORY_BYTES: Unit.BYTE,
        GpuProperty.HBM_BYTES_PER_S: Unit.BYTE_PER_S,
        GpuProperty.BF16_FLOP_PER_S: Unit.FLOP_PER_S,
        GpuProperty.FP16_FLOP_PER_S: Unit.FLOP_PER_S,
        GpuProperty.FP8_FLOP_PER_S: Unit.FLOP_PER_S,
        GpuProperty.FP4_FLOP_PER_S: Unit.FLOP_PER_S,
        GpuProperty.INT8_FLOP_PER_S: Unit.OP_PER_S,
        GpuProperty.TF32_FLOP_PER_S: Unit.FLOP_PER_S,
        GpuProperty.FP32_FLOP_PER_S: Unit.FLOP_PER_S,
        GpuProperty.FP64_FLOP_PER_S: Unit.FLOP_PER_S,
        GpuProperty.FP64_TENSOR_FLOP_PER_S: Unit.FLOP_PER_S,
        GpuProperty.POWER_W: Unit.WATT,
        GpuProperty.LINK_BYTES_PER_S: Unit.BYTE_PER_S,
        GpuProperty.PCIE_GENERATION: Unit.COUNT,
        GpuProperty.PCIE_LANES: Unit.COUNT,
        GpuProperty.SMS: Unit.COUNT,
        GpuProperty.L2_BYTES: Unit.BYTE,
        GpuProperty.MIG_SLICES: Unit.COUNT,
        GpuProperty.NVENC: Unit.COUNT,
        GpuProperty.NVDEC: Unit.COUNT,
    }

    def fact(name: GpuProperty) -> Callable[[Gpu], Cell]:
        return lambda gpu: _value(gpu, name)

    def memory_gib(gpu: Gpu) -> float | None:
        return _divided(_value(gpu, GpuProperty.MEMORY_BYTES), GIB)

    def intensity(gpu: Gpu) -> float | None:
        return _divided(sixteen_bit_rate(gpu), _value(gpu, GpuProperty.HBM_BYTES_PER_S))

    return Table(
        "gpus",
        catalog.gpus,
        {
            Column("name", _TEXT): lambda gpu: gpu.name,
            Column("vendor", _TEXT): lambda gpu: gpu.vendor or None,
            Column("architecture", _TEXT): lambda gpu: gpu.architecture or None,
            Column("release_date", _DATE): lambda gpu: gpu.release_date or None,
            Column("form_factor", _TEXT): lambda gpu: gpu.form_factor or None,
            Column("memory_type", _TEXT): lambda gpu: gpu.memory_type or None,
            Column("link_kind", _TEXT): lambda gpu: gpu.link_kind or None,
            Column("compute_capability", _TEXT): lambda gpu: gpu.compute_capability or None,
            **{Column(name.value, _NUMBER, unit): fact(name) for name, unit in known.items()},
            Column("flop_per_byte", _NUMBER, Unit.RATIO, derived=True): intensity,
            Column("offers", _NUMBER, Unit.COUNT, derived=True): lambda gpu: float(prices.offers(gpu)),
            Column("gpu_price", _NUMBER, Unit.MONEY_PER_HOUR, derived=True): prices.cheapest_gpu,
            Column("price_per_gib", _NUMBER, Unit.MONEY_PER_HOUR, derived=True): lambda gpu: _divided(
                prices.cheapest_gpu(gpu), memory_gib(gpu)
            ),
            Column("price_per_tflops", _NUMBER, Unit.MONEY_PER_HOUR, derived=True): lambda gpu: _divided(
                prices.cheapest_gpu(gpu), _divided(sixteen_bit_rate(gpu), TERA)
            ),
        },
    )


def instance_table(catalog: Catalog, prices: Prices) -> Table[Instance]:
    """All instances."""
    known: dict[InstanceProperty, Unit] = {
        InstanceProperty.VCPUS: Unit.COUNT,
        InstanceProperty.RAM_BYTES: Unit.BYTE,
        InstanceProperty.LOCAL_STORAGE_BYTES: Unit.BYTE,
        InstanceProperty.NETWORK_BIT_PER_S: Unit.BIT_PER_S,
    }

    def fact(name: InstanceProperty) -> Callable[[Instance], Cell]:
        return lambda instance: k.value if (k := instance.properties.get(name)) else None

    def gpu_name(instance: Instance) -> str | None:
        gpu = prices.gpu_of(instance)
        return gpu.name if gpu else instance.gpu_text or None

    def gpus(instance: Instance) -> float | None:
        if instance.gpu_count is None or instance.gpu_fraction is None:
            return None
        return instance.gpu_count * float(instance.gpu_fraction)

    def memory_each(instance: Instance) -> float | None:
        stated = instance.properties.get(InstanceProperty.GPU_MEMORY_BYTES_EACH)
        gpu = prices.gpu_of(instance)
        return stated.value if stated else _value(gpu, GpuProperty.MEMORY_BYTES) if gpu else None

    def memory_total(instance: Instance) -> float | None:
        each, count = memory_each(instance), gpus(instance)
        return None if each is None or count is None else each * count

    def rate_total(instance: Instance) -> float | None:
        gpu, count = prices.gpu_of(instance), gpus(instance)
        rate = sixteen_bit_rate(gpu) if gpu else None
        return None if rate is None or count is None else rate * count

    def comparable(instance: Instance) -> float | None:
        return None if instance.is_attachable else prices.of(instance)

    def first_price(instance: Instance, part: str) -> str | None:
        return str(getattr(instance.prices[0], part)) or None if instance.prices else None

    return Table(
        "instances",
        catalog.instances,
        {
            Column("provider", _TEXT): lambda instance: instance.provider,
            Column("name", _TEXT): lambda instance: instance.name,
            Column("gpu", _TEXT): gpu_name,
            Column("gpu_count", _NUMBER, Unit.COUNT): lambda i: None if i.gpu_count is None else float(i.gpu_count),
            Column("gpu_fraction", _NUMBER, Unit.RATIO): lambda i: (
                None if i.gpu_fraction is None else float(i.gpu_fraction)
            ),
            Column("gpu_memory_each", _NUMBER, Unit.BYTE): memory_each,
            Column("gpu_memory_total", _NUMBER, Unit.BYTE, derived=True): memory_total,
            Column("price", _NUMBER, Unit.MONEY_PER_HOUR): prices.of,
            Column("spot_price", _NUMBER, Unit.MONEY_PER_HOUR): lambda i: prices.of(i, PriceKind.SPOT),
            Column("gpu_price", _NUMBER, Unit.MONEY_PER_HOUR, derived=True): prices.of_one_gpu,
            Column("price_per_gib", _NUMBER, Unit.MONEY_PER_HOUR, derived=True): lambda i: _divided(
                comparable(i), _divided(memory_total(i), GIB)
            ),
            Column("price_per_tflops", _NUMBER, Unit.MONEY_PER_HOUR, derived=True): lambda i: _divided(
                comparable(i), _divided(rate_total(i), TERA)
            ),
            **{Column(name.value, _NUMBER, unit): fact(name) for name, unit in known.items()},
            Column("interconnect", _TEXT): lambda i: i.interconnect or None,
            Column("rdma", _TEXT): lambda i: i.rdma or None,
            Column("virtualization", _TEXT): lambda i: i.virtualization or None,
            Column("cpu", _TEXT): lambda i: i.cpu or None,
            Column("region", _TEXT): lambda i: first_price(i, "region"),
            Column("price_date", _DATE): lambda i: first_price(i, "date"),
        },
    )


def model_table(catalog: Catalog) -> Table[Model]:
    """All models."""

    def cached(model: Model) -> float | None:
        """Numbers kept in the KV cache for one token, by all layers together."""
        shape = model.architecture
        if shape is None:
            return None
        return float(sum(group.count * group.attention.cache_elements_per_token for group in shape.groups))

    def cached_bytes(model: Model) -> float | None:
        return None if model.architecture is None else kv_bytes_per_token(model.architecture, _KV_BYTES)

    def experts(model: Model) -> float | None:
        return float(max(g.mlp.experts for g in model.architecture.groups)) if model.architecture else None

    def context(model: Model) -> float | None:
        positions = model.architecture.max_positions if model.architecture else None
        return None if positions is None else float(positions)

    return Table(
        "models",
        catalog.models,
        {
            Column("name", _TEXT): lambda model: model.name,
            Column("family", _TEXT): lambda model: model.family or None,
            Column("kind", _TEXT): lambda model: model.kind or None,
            Column("parameters", _NUMBER, Unit.PARAMETER): lambda model: model.parameters.value,
            Column("active_parameters", _NUMBER, Unit.PARAMETER): lambda m: (
                m.active_parameters.value if m.active_parameters else None
            ),
            Column("layers", _NUMBER, Unit.COUNT): lambda m: float(m.architecture.layers) if m.architecture else None,
            Column("hidden", _NUMBER, Unit.COUNT): lambda m: float(m.architecture.hidden) if m.architecture else None,
            Column("experts", _NUMBER, Unit.COUNT): experts,
            Column("max_positions", _NUMBER, Unit.TOKEN): context,
            Column("kv_elements_per_token", _NUMBER, Unit.COUNT, derived=True): cached,
            Column("kv_bytes_per_token", _NUMBER, Unit.BYTE_PER_TOKEN, derived=True): cached_bytes,
            Column("licence", _TEXT): lambda model: model.licence or None,
        },
    )


def kv_bytes_per_token(shape: ModelArchitecture, bytes_each: float) -> float:
    """What one token keeps in the KV caches of all layers, at `bytes_each` for a number.

    The keys of an indexer are in FP8 with a scale for each 128 whatever the precision (see `Attention`).
    """
    layers = [(group.count, group.attention) for group in shape.groups]
    elements = sum(count * attention.cache_elements_per_token for count, attention in layers)
    index = sum(count * attention.index_elements_per_token for count, attention in layers)
    return (elements - index) * bytes_each + index * INDEX_BITS / 8.0


def sixteen_bit_rate(gpu: Gpu) -> float | None:
    """FLOP/s at 16 bits, dense: BF16, or FP16 of GPUs without it."""
    rate = _value(gpu, GpuProperty.BF16_FLOP_PER_S)
    return _value(gpu, GpuProperty.FP16_FLOP_PER_S) if rate is None else rate


def _value(gpu: Gpu, name: GpuProperty) -> float | None:
    known = gpu.properties.get(name)
    return None if known is None else known.value


def _divided(value: float | None, by: float | None) -> float | None:
    return value / by if value is not None and by else None
