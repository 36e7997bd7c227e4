"""Work in items that GPUs share out among them: images, frames, hours of audio, or whatever a person describes."""

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.figures import formula
from gpuplanner.units import Unit


@formula(Unit.SECOND, "Σ part_s", "the parts of a step, one after the other")
def item_step_seconds(part_s: tuple[Number, ...]) -> Number:
    """One step of one GPU: what its parts take together."""
    return sum(part_s, start=0.0)


@formula(Unit.PER_S, "gpus · items_per_step / item_step_s", "every GPU works on items of its own")
def items_per_second(gpus: Number, items_per_step: Number, item_step_s: Number) -> Number:
    """Items that all GPUs together finish in a second; `items_per_step`: of one GPU."""
    return gpus * items_per_step / item_step_s


@formula(Unit.PER_S, "items_per_s / gpus", "")
def items_per_second_per_gpu(items_per_s: Number, gpus: Number) -> Number:
    """Items a second for one GPU."""
    return items_per_s / gpus


@formula(Unit.SECOND, "items / items_per_s", "")
def item_job_seconds(items: Number, items_per_s: Number) -> Number:
    """Time to finish all items, without failures."""
    return items / items_per_s


@formula(Unit.BYTE, "bytes_per_item · items_per_step", "")
def batch_bytes(bytes_per_item: Number, items_per_step: Number) -> Number:
    """What the items of one step take in the memory of one GPU."""
    return bytes_per_item * items_per_step


@formula(Unit.FLOP, "flops_per_item · items_per_step", "")
def batch_flops(flops_per_item: Number, items_per_step: Number) -> Number:
    """Operations of one step of one GPU."""
    return flops_per_item * items_per_step


@formula(Unit.SECOND, "kernels · kernel_s", "")
def item_launch_seconds(kernels: Number, kernel_s: Number) -> Number:
    """Time that launching the kernels of a step takes."""
    return kernels * kernel_s


@formula(Unit.MONEY, "1000 · usd_per_hour / 3600 / items_per_s", "")
def usd_per_thousand_items(usd_per_hour: Number, items_per_s: Number) -> Number:
    """What a thousand items cost on a machine that is always busy."""
    return 1000.0 * usd_per_hour / 3600.0 / items_per_s


@formula(Unit.JOULE, "power_w / items_per_s", "")
def joules_per_item(power_w: Number, items_per_s: Number) -> Number:
    """Energy of the GPUs for one item."""
    return power_w / items_per_s
