"""Why machines were rejected: grouped by the first constraint that they broke, or for the one machine asked about."""

from collections.abc import Iterator
from itertools import groupby

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context
from gpuplanner.cli.estimate_text import gpus_name
from gpuplanner.engine.search.result import Candidate, Rejection, SearchResult
from gpuplanner.messages import InputError, msg, shortened

NEAREST = 3
"""Machines of each group that are named; with all of them the list is hundreds of lines."""


def grouped_lines(rejections: tuple[Rejection, ...], context: Context) -> Iterator[str]:
    """A heading with a count for each constraint, in the order in which they are checked, and its nearest machines."""
    for broken, group in groupby(rejections, key=lambda rejection: rejection.broken):
        members = list(group)
        yield f"{context.text(f'cli.broken.{broken.value}')} · {len(members):,}"
        yield from _table(members[:NEAREST], context)
        if len(members) > NEAREST:
            yield f"  {context.text('cli.why_not.more', count=f'{len(members) - NEAREST:,}')}"
        yield ""
    yield context.text("cli.why_not.hint")


def nearest_lines(rejections: tuple[Rejection, ...], most: int, context: Context) -> Iterator[str]:
    """The machines that came nearest to carrying the plan."""
    if not rejections:
        yield context.text("cli.recommend.none_near")
        return
    yield context.text("cli.recommend.why_not")
    yield from _table(list(rejections[:most]), context)


def about_lines(name: str, found: SearchResult, everything: SearchResult, context: Context) -> Iterator[str]:
    """What became of the machines that a name means. `found` has only those of `everything`."""
    for candidate in found.candidates:
        place = everything.candidates.index(candidate) + 1
        yield context.text("cli.why_not.carries", machine=offer_of(candidate, context), place=place)
    yield from _table(list(found.rejections), context, indent="")
    if not found.candidates and not found.rejections:
        yield context.text("cli.why_not.not_offered", name=shortened(name, 60))


def narrowed(result: SearchResult, name: str, context: Context) -> SearchResult:
    """The part of a result that is about an instance or a GPU. Raises InputError for a name that is neither."""
    meant = context.workspace.resolve(name)
    ids = {meant.id} if meant.id else {candidate.id for candidate in meant.candidates if meant.kind == candidate.kind}
    if not ids or (meant.id is None and meant.reason.id.startswith("names.refused")):
        raise InputError(meant.reason)
    if meant.kind == "model":
        raise InputError(msg("cli.why_not.no_machine", name=shortened(name, 60)))

    def about(offer: Candidate | Rejection) -> bool:
        machine = offer.machine
        instance = offer.instance if isinstance(offer, Rejection) else offer.machine.instance
        gpu = offer.gpu if isinstance(offer, Rejection) else machine.gpu if machine else None
        return bool((instance and instance.id in ids) or (gpu and gpu.id in ids))

    return SearchResult(
        tuple(filter(about, result.candidates)), tuple(filter(about, result.rejections)), result.configurations
    )


def offer_of(offer: Candidate | Rejection, context: Context) -> str:
    """The name of what is offered: an instance of its provider, or bare GPUs."""
    machine = offer.machine
    instance = offer.instance if isinstance(offer, Rejection) else offer.machine.instance
    if instance is not None:
        return safe(f"{instance.provider} {instance.name}")
    if machine is not None:
        return safe(gpus_name(machine, context))
    return safe(offer.gpu.name) if isinstance(offer, Rejection) and offer.gpu else "?"


def _table(rejections: list[Rejection], context: Context, indent: str = "  ") -> list[str]:
    return columns(
        [[f"{indent}{offer_of(rejection, context)}", context.text(rejection.reason)] for rejection in rejections]
    )
