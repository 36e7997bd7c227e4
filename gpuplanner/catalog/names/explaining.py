"""Why a name means what it means, or nothing: the messages of resolutions. Decides nothing."""

from collections.abc import Sequence
from fractions import Fraction

from gpuplanner.catalog.entries import Gpu, Instance
from gpuplanner.catalog.names.gpu_names import GpuMatch
from gpuplanner.catalog.names.gpu_traits import Traits
from gpuplanner.catalog.names.resolution import Share, Slice, Technology
from gpuplanner.messages import Message, MessageValue, msg


def gpu(found: Gpu, match: GpuMatch) -> Message:
    """Why a name is this GPU."""
    if match.part:
        return msg("names.gpu.part", name=found.name, part=match.part.name.upper(), share=share_text(match.part.share))
    return msg("names.gpu.by_memory" if match.decided_by_memory else "names.gpu.plain", name=found.name)


def several_gpus(query: str, match: GpuMatch, traits: Sequence[Traits]) -> Message:
    """Why a name is no single GPU: it fits several, comes in several sizes, or states what none of them is."""
    names = listed([t.gpu.name for t in traits])
    if match.sizes_gb:
        sizes = listed([f"{size:g} GB" for size in match.sizes_gb])
        return msg("names.ambiguous.sizes", query=query, sizes=sizes, name=names)
    if not match.ids:
        part = msg(f"names.part.{match.contradiction or 'memory'}")
        return msg("names.refused.contradiction", query=query, names=names, part=part)
    return msg(f"names.ambiguous.{_what_tells_apart(traits)}", query=query, names=names, count=len(traits))


def _what_tells_apart(traits: Sequence[Traits]) -> str:
    sizes = {round(t.sold_gb[0]) if t.sold_gb else None for t in traits}
    forms = {t.gpu.form_factor for t in traits}
    if len(sizes) == len(traits):
        return "by_memory"
    if len(forms) == 1:
        return "by_name"
    return "by_memory_and_form" if len(sizes) > 1 else "by_form"


def mig(parent: Gpu, profile: str, share: Share, *, shared: bool) -> Message:
    """What share of the GPU a MIG instance is."""
    compute = share_text(share.compute or Fraction(1))
    message = "names.gpu.mig_shared" if shared else "names.gpu.mig"
    return msg(message, name=parent.name, profile=profile, compute=compute, memory=share_text(share.memory))


def no_such_mig(parent: str | Message, profile: str, known: Sequence[str]) -> Message:
    """Why a MIG profile is refused."""
    if not known:
        return msg("names.refused.no_mig", name=parent)
    return msg("names.refused.mig_profile", name=parent, profile=profile, known=listed(known))


def vgpu(parent: Gpu, divided: Slice, share: Share) -> Message:
    """What share of the GPU a vGPU is, and what its series allows."""
    values: dict[str, MessageValue] = {
        "name": parent.name,
        "profile": divided.profile,
        "memory": share_text(share.memory),
        "series": msg(f"names.series.{divided.series.lower()}"),
    }
    if divided.technology is Technology.VGPU_ON_MIG and share.compute is not None:
        return msg("names.gpu.vgpu_on_mig", compute=share_text(share.compute), **values)
    return msg("names.gpu.vgpu", **values)


def instance(found: Instance) -> Message:
    """What an instance's name stands for."""
    values = {"provider": found.provider, "name": found.name}
    if found.is_attachable:
        return msg("names.instance.accelerator", **values)
    if found.gpu_fraction is not None and found.gpu_fraction < 1:
        return msg("names.instance.slice", share=share_text(found.gpu_fraction), gpu=found.gpu_text, **values)
    return msg("names.instance.plain", **values)


def listed(names: Sequence[str]) -> str | Message:
    """Several names, set apart as the language does."""
    if not names:
        return ""
    return names[0] if len(names) == 1 else msg("names.listed", first=names[0], rest=listed(names[1:]))


def either(names: Sequence[str], most: int = 3) -> str | Message:
    """The first few names as alternatives: "A, B or C"."""
    *others, last = names[:most]
    return msg("names.either", others=listed(others), last=last) if others else last


def share_text(share: Fraction) -> str:
    """A share as people write it: "1/7", "100%"."""
    return "100%" if share == 1 else f"{share.numerator}/{share.denominator}"
