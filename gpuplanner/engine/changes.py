"""The smallest changes that would make a plan work, each tried by estimating it anew. Proposes nothing untried.

A change is kept when with it the run fits (or fits better than tight) and all goals are met. What keeps everything that
was asked comes first, in the order in which a person would try it: settings, then precision, then more or other GPUs,
the smallest first. What gives up a part of it (fewer requests, shorter ones, another method) comes last and says so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.estimate import Change, Estimate, Fit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.own_measurements import Own
from gpuplanner.engine.proposals import Changes, Proposal, machine_proposals, setting_proposals
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.workload.serving import Serving

MOST_CHANGES = 8
"""More than this a person does not read."""
MOST_EFFORT = 240
"""After so much work the search for changes of settings ends, and that for machines: what is hard to mend takes a
moment, not seconds. On the presets, on machines that are too small for them, it finds what it finds without an end.
"""
OPEN_EFFORT, RATE_EFFORT = 2, 4
"""How much more work it is to choose how a model is split, and to find how many requests at a rate are at work."""
SUPPORT = "limits.support."
"""Begins the ids of what `support.py` says."""
GOODNESS = {Fit.DOES_NOT_FIT: 0, Fit.TIGHT: 1, Fit.FITS: 2}
GIVING_UP = frozenset(
    {"change.concurrency", "change.length", "change.sequence", "change.lora", "change.qlora", "change.resolution"}
)
"""Changes after which less is done than was asked for."""
PILED_UP = frozenset({"change.micro_batch"})
"""Changes that are made as large as can be when several have to come together."""
Try = Callable[[Proposal], Estimate | None]


def advised(
    made: Estimate,
    subject: Any,
    efficiencies: Efficiencies,
    gpus: Mapping[str, Gpu],
    own: Sequence[Own] = (),
) -> Estimate:
    """The estimate with the changes that help; unchanged where it fits and meets all goals.

    `gpus`: those of the catalog, of which the next larger one is tried; `own`: what a person measured.
    """
    if made.fit is Fit.FITS and not made.unmet:
        return made

    def within(effort: int) -> Try:
        left = effort

        def tried(proposal: Proposal) -> Estimate | None:
            nonlocal left
            if left <= 0:
                return None
            left -= _effort_of(proposal)
            try:
                return estimate(proposal.plan, subject, proposal.machine, efficiencies, (), own)
            except InputError:
                return None

        return tried

    settings = tuple(_settings(made, within(MOST_EFFORT)))
    machines = tuple(_machines(made, gpus, within(MOST_EFFORT)))
    whole = [change for change in settings if not change.gives_up]
    others = [change for change in settings if change.gives_up]
    kept = (*whole[: MOST_CHANGES - len(machines)], *machines)
    return replace(made, changes=(*kept, *others[: MOST_CHANGES - len(kept)]))


def _effort_of(proposal: Proposal) -> int:
    """How much work an estimate is, in those of a plan that leaves nothing to be chosen."""
    workload = proposal.plan.workload
    if not isinstance(workload, Serving):
        return 1
    ways = OPEN_EFFORT if workload.tensor_parallel is None and proposal.machine.gpus > 1 else 1
    return ways if workload.concurrency is not None else ways * RATE_EFFORT


def _settings(made: Estimate, tried: Try) -> Iterator[Change]:
    helped: set[str] = set()
    for proposal in setting_proposals(made, _changes_of(made)):
        if proposal.what.id not in helped:
            change = _change(made, proposal, tried)
            if change is not None:
                helped.add(proposal.what.id)
                yield change
    if not helped:
        together = _together(made, tried)
        if together is not None:
            yield together


def _machines(made: Estimate, gpus: Mapping[str, Gpu], tried: Try) -> Iterator[Change]:
    found = []
    for family in machine_proposals(made, gpus):
        first = next(((p, c) for p in family if (c := _change(made, p, tried)) is not None), None)
        if first is not None:
            found.append(first)
    yield from (change for _, change in sorted(found, key=lambda pair: _size(pair[0].machine)))


def _size(machine: Machine) -> float:
    """Memory of all GPUs: what a machine that does costs, where no price is known."""
    known = machine.gpu.known(GpuProperty.MEMORY_BYTES)
    return machine.gpus * (known.value if known else 0.0)


def _change(made: Estimate, proposal: Proposal, tried: Try) -> Change | None:
    """The change, when it helps."""
    found = tried(proposal)
    if found is None or not _helps(made, found):
        return None
    name = headline_of(found)
    headline = found.metrics.get(name)
    return Change(
        proposal.what,
        proposal.plan,
        found.fit,
        found.memory.free,
        headline,
        name,
        found.outcome,
        _gives_up(proposal.what),
    )


def headline_of(made: Estimate) -> str:
    """The id of the metric that a change is judged by at a glance."""
    return KINDS[made.plan.workload.kind].headline


def _changes_of(made: Estimate) -> Changes:
    return KINDS[made.plan.workload.kind].changes


def _helps(made: Estimate, found: Estimate) -> bool:
    """Whether what was wrong is right: memory when it did not fit or was tight, and all goals.

    Without times nothing helps but room for what did not fit, on more nodes whose network is not known. Software that
    is not known to run on the GPU does not keep one from hearing what would fit there.
    """
    if found.fit is Fit.DOES_NOT_FIT:
        return False
    if headline_of(found) not in found.metrics and not _only_room_is_asked(made):
        return False
    if made.fit is Fit.FITS:
        return not found.unmet
    if GOODNESS[found.fit] <= GOODNESS[made.fit]:
        return False
    return all(message.id.startswith(SUPPORT) and message in made.unmet for message in found.unmet)


def _only_room_is_asked(made: Estimate) -> bool:
    """Whether memory alone decides: it did not fit, and no time was asked for."""
    workload = made.plan.workload
    return made.fit is Fit.DOES_NOT_FIT and KINDS[workload.kind].room_is_all(workload)


def _gives_up(what: Message) -> bool:
    """Whether a change, or one of several together, does less than was asked for."""
    parts = (value for value in what.values.values() if isinstance(value, Message))
    return what.id in GIVING_UP or any(_gives_up(part) for part in parts)


def _together(made: Estimate, tried: Try) -> Change | None:
    """The fewest changes, each of another kind, with which it works: two, else a run of them."""
    return _pair(made, tried) or _run(made, tried)


def _pair(made: Estimate, tried: Try) -> Change | None:
    """The first two settings with which it works together."""
    for first in setting_proposals(made, _changes_of(made)):
        at = tried(first)
        for second in setting_proposals(at, _changes_of(at)) if at else ():
            if second.what.id != first.what.id:
                change = _change(made, replace(second, what=_all_of([first.what, second.what])), tried)
                if change is not None:
                    return change
    return None


def _run(made: Estimate, tried: Try) -> Change | None:
    """Changes one on top of the other, in the order in which they are proposed, until it works."""
    at = made
    done: dict[str, Message] = {}
    while len(done) < MOST_CHANGES:
        proposal = _next(setting_proposals(at, _changes_of(at)), done)
        found = tried(proposal) if proposal else None
        if proposal is None or found is None:
            return None
        done[proposal.what.id] = proposal.what
        if _helps(made, found):
            return _change(made, replace(proposal, what=_all_of(list(done.values()))), tried)
        at = found
    return None


def _next(proposals: Iterator[Proposal], done: Mapping[str, Message]) -> Proposal | None:
    """The first change of another kind; where one comes in several sizes that cost nothing but time, the largest."""
    left = [p for p in proposals if p.what.id not in done]
    if not left:
        return None
    alike = [p for p in left if p.what.id == left[0].what.id]
    return alike[-1] if left[0].what.id in PILED_UP else left[0]


def _all_of(words: list[Message]) -> Message:
    """All of several changes as one text."""
    text = words[-1]
    for word in reversed(words[:-1]):
        text = msg("change.and", first=word, rest=text)
    return text
