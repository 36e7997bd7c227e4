"""The facts of an instance in groups: its GPUs, its host, its network, its prices. No Qt."""

from collections.abc import Iterable

from gpuplanner.catalog.entries import Gpu, GpuProperty, Instance, InstanceProperty
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.catalog_place.rows import FactGroup, FactRow, NumberRow, PriceRow, Row, WordRow, groups
from gpuplanner.units import Unit

P = InstanceProperty


def instance_groups(instance: Instance, gpu: Gpu | None) -> tuple[FactGroup, ...]:
    """Everything that is known of an instance. `gpu` is the one of the catalog that it has, where that is certain."""
    host = (P.VCPUS, P.RAM_BYTES, P.LOCAL_STORAGE_BYTES, P.LOCAL_STORAGE_BYTES_PER_S)
    return groups(
        FactGroup(msg("catalogui.group.prices"), tuple(_prices(instance))),
        FactGroup(msg("catalogui.group.gpus"), tuple(_gpus(instance, gpu))),
        FactGroup(msg("catalogui.group.host"), (*_facts(instance, host), *_words(instance, ("cpu", "virtualization")))),
        FactGroup(
            msg("catalogui.group.network"),
            (*_facts(instance, (P.NETWORK_BIT_PER_S,)), *_words(instance, ("rdma", "interconnect"))),
        ),
    )


def _gpus(instance: Instance, gpu: Gpu | None) -> Iterable[Row]:
    count, fraction = instance.gpu_count, instance.gpu_fraction
    yield WordRow(msg("catalogui.instance.sold_as"), instance.gpu_text, "gpu" in instance.from_memory)
    name = msg("catalogui.instance.gpu_count")
    if count is None:
        yield WordRow(name, msg("catalogui.not_stated"))
    else:
        yield WordRow(name, f"{count}", "gpu_count" in instance.from_memory)
    if fraction is None:
        yield WordRow(msg("catalogui.instance.gpu_share"), msg("catalogui.not_stated"))
    elif fraction != 1:
        yield WordRow(msg("catalogui.instance.gpu_share"), f"{fraction}", "gpu_share" in instance.from_memory)
    yield from _facts(instance, (P.GPU_MEMORY_BYTES_EACH,))
    memory = gpu.known(GpuProperty.MEMORY_BYTES) if gpu is not None else None
    if memory is not None and count is not None and fraction is not None:
        total = memory.value * count * float(fraction)
        yield NumberRow(msg("catalogui.instance.memory_total"), total, Unit.BYTE, msg("catalogui.instance.from_gpu"))


def _facts(instance: Instance, names: Iterable[InstanceProperty]) -> Iterable[Row]:
    for name in names:
        known = instance.properties.get(name)
        if known is not None:
            yield FactRow(msg(f"catalogui.property.{name.value}"), known)


def _words(instance: Instance, names: Iterable[str]) -> Iterable[Row]:
    for name in names:
        text = getattr(instance, name)
        if text:
            said: MessageValue = msg("catalogui.word.none") if text == "none" else text
            title: Message = msg(f"catalogui.word_name.{name}")
            yield WordRow(title, said, name in instance.from_memory)


def _prices(instance: Instance) -> Iterable[Row]:
    if not instance.prices:
        yield WordRow(msg("catalogui.price.title"), msg("catalogui.price.unknown"))
    for price in instance.prices:
        yield PriceRow(price)
