"""Whether NVLink (or what another maker calls so) matters for a plan: the same GPUs with it and over PCIe alone."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.answers.answer import Answer, Line, Row, Table
from gpuplanner.engine.answers.asking import Asking
from gpuplanner.engine.estimate import Estimate, Limit, Part, Way
from gpuplanner.engine.formulas.answers_time import longer_share, more_seconds
from gpuplanner.engine.links import Collective, host_link_bytes_per_s, reach
from gpuplanner.engine.machine import Machine, Topology
from gpuplanner.figures import Figure
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Display, Unit, digits, percent, show, show_duration
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Recomputation, Sharding, Training

MUCH, SOME = 0.25, 0.05
"""From how much longer without the link it is said to matter much, and to matter at all."""
ALIKE = 0.001
"""Times that differ by no more than this share are the same."""
COLLECTIVES = frozenset({
    "exchange", "dispatch", "prompts", "tensor", "context", "experts", "gather", "reduce", "send",
})  # fmt: skip
"""Parts of a step of which there are words for what is exchanged in them."""
TIMES = ("step_s", "job_s", "tpot_s", "ttft_s", "request_s", "science_step_s", "item_step_s")
HEADLINES = ("step_s", "request_s", "science_step_s", "item_step_s")
RATES = ("tokens_per_s", "output_tokens_per_s", "science_steps_per_s", "items_per_s")


@dataclass(frozen=True, slots=True)
class Linking:
    """The question takes nothing but the plan."""

    def __call__(self, asking: Asking) -> Answer:
        """The answer: seconds and per cent, and the exchanges that they come from."""
        machine = asking.machine
        if machine.gpus_per_node == 1:
            return Answer("nvlink", msg("answers.nvlink.one_gpu", gpu=machine.gpu.name))
        over_pcie = replace(
            machine, topology=Topology.PCIE, link_bytes_per_s=host_link_bytes_per_s(machine.gpu), remarks=()
        )
        linked = _linked(machine)
        if linked is None:
            return _without_link(asking, over_pcie)
        quick = asking.estimate(linked)
        slow = asking.estimate(over_pcie, **pinned(asking, quick.way))
        free = asking.estimate(over_pcie)
        return _compared(asking, quick, slow, free, linked)


def pinned(asking: Asking, way: Way) -> dict[str, Any]:
    """The fields of the workload that hold an estimate to this way of running."""
    workload = asking.plan.workload
    choices = way.choices or {}
    if isinstance(workload, Serving):
        attention = {"attention_ranks": way.data_parallel, "expert_parallel": way.expert_parallel > 1}
        plain = way.data_parallel == 1 and way.expert_parallel == 1
        degrees = {"tensor_parallel": way.tensor_parallel, "pipeline_parallel": way.pipeline_parallel}
        return degrees if plain else degrees | attention
    if isinstance(workload, Training):
        return {
            "sharding": Sharding(choices["sharding"]),
            "recomputation": Recomputation(choices["recomputation"]),
            "tensor_parallel": way.tensor_parallel,
            "pipeline_parallel": way.pipeline_parallel,
            "context_parallel": way.context_parallel,
            "expert_parallel": way.expert_parallel,
            "micro_batch": way.micro_batch,
        }
    return {}


def _linked(machine: Machine) -> Machine | None:
    if machine.topology in {Topology.SWITCHED, Topology.BRIDGED_PAIRS}:
        return machine
    link = machine.gpu.known(GpuProperty.LINK_BYTES_PER_S)
    if link is None:
        return None
    kind = Topology.BRIDGED_PAIRS if machine.gpu.link_is_bridge else Topology.SWITCHED
    return replace(machine, topology=kind, link_bytes_per_s=link.value, remarks=())


def _compared(asking: Asking, quick: Estimate, slow: Estimate, free: Estimate, linked: Machine) -> Answer:
    headline = next((name for name in HEADLINES if name in quick.metrics and name in slow.metrics), None)
    if headline is None:
        raise InputError(msg("answers.nvlink.no_time", why=quick.reason))
    lines = []
    for name in TIMES:
        if name in quick.metrics and name in slow.metrics:
            longer = _as_wide(more_seconds(slow.metrics[name].value, quick.metrics[name].value), slow.metrics[name])
            lines.append(Line(f"nvlink.{name}", longer))
    share = float(longer_share(slow.metrics[headline].value, quick.metrics[headline].value))
    lines.append(Line("nvlink.share", _as_wide(share, slow.metrics[headline], Unit.RATIO)))
    weight = "much" if share >= MUCH else "some" if share >= SOME else "hardly"
    link = _link_name(linked)
    seconds = slow.metrics[headline].value - quick.metrics[headline].value
    what, time = msg(f"answers.nvlink.what.{headline}"), str(show_duration(seconds))
    # Beyond twice as long a factor is read at once, per cents are not.
    how_much = msg("answers.nvlink.times", times=digits(1 + share, 2)) if share >= 1 else percent(share, 1)
    says = msg(f"answers.nvlink.{weight}", link=link, what=what, time=time, share=how_much)
    said = (*_reasons(quick, slow, linked), *_over_pcie(asking, slow))
    return Answer("nvlink", says, tuple(lines), _table(quick, slow, free, link), remarks=said)


def _as_wide(value: Any, like: Figure, unit: Unit = Unit.SECOND) -> Figure:
    """A difference of two times that err alike: its ends stand to it as theirs do to them."""
    low, high = (value * end / like.value for end in (like.low, like.high))
    return Figure(value, unit, like.certainty, min(low, high), max(low, high), like.rung, like.why)


def _reasons(quick: Estimate, slow: Estimate, linked: Machine) -> tuple[Message, ...]:
    """Each exchange with its time both ways; that there is none says why the link does not matter."""
    before = {part.id: part.figure.value for part in quick.time}
    said = [
        msg(
            "answers.nvlink.part",
            what=_part_name(part.id, slow),
            quick=str(show_duration(before.get(part.id, 0.0))),
            slow=str(show_duration(part.figure.value)),
        )
        for part in slow.time
        if abs(part.figure.value - before.get(part.id, 0.0)) > ALIKE * part.figure.value
    ]
    if not said:
        said.append(msg("answers.nvlink.nothing_exchanged"))
    if linked.topology is Topology.BRIDGED_PAIRS and linked.gpus_per_node > 2:
        said.append(msg("answers.nvlink.pairs"))
    if linked.nodes > 1:
        said.append(msg("answers.nvlink.network_same"))
    return tuple(said)


def _over_pcie(asking: Asking, slow: Estimate) -> Iterator[Message]:
    """What collectives are taken to reach over PCIe, since boards differ in it more than in anything else."""
    machine = slow.machine
    found = reach(asking.efficiencies, machine.gpu, Collective.ALL_REDUCE, Topology.PCIE)
    share = float(found.share(float(machine.gpus_per_node)))
    rate = str(show(machine.link_bytes_per_s or 0.0, Unit.BYTE_PER_S, Display()))
    yield msg("answers.nvlink.pcie_reach", share=percent(share, 1), rate=rate, gpus=machine.gpus_per_node)


def _table(quick: Estimate, slow: Estimate, free: Estimate, link: Message | str) -> Table:
    shown = [name for name in (*TIMES, *RATES) if name in quick.metrics][:5]
    cases = [(msg("answers.nvlink.with", link=link), quick), (msg("answers.nvlink.pcie_same"), slow)]
    if free.way != slow.way:
        cases.append((msg("answers.nvlink.pcie_best"), free))
    rows = tuple(
        Row(name, (way_text(made.way), *(made.metrics.get(metric) for metric in shown))) for name, made in cases
    )
    return Table(("link", "way", *shown), rows)


def way_text(way: Way) -> Message:
    """The degrees of a way of running that are above one."""
    degrees = {
        "TP": way.tensor_parallel,
        "PP": way.pipeline_parallel,
        "CP": way.context_parallel,
        "EP": way.expert_parallel,
        "DP": way.data_parallel,
    }
    parts = [f"{name} {degree}" for name, degree in degrees.items() if degree > 1]
    if way.workers:
        return msg("answers.way", degrees=" · ".join([*parts, way.workers]))
    if way.replicas > 1:
        return msg("answers.way.replicas", count=way.replicas, degrees=" · ".join(parts) or "TP 1")
    return msg("answers.way", degrees=" · ".join(parts) or "TP 1")


def _part_name(part: str, made: Estimate) -> Message:
    """What is exchanged in a part of a step, in the words of language models where it runs one."""
    worded = part in COLLECTIVES and isinstance(made.plan.workload, Serving | Training)
    return msg(f"answers.collective.{part}" if worded else f"part.{part}")


def _link_name(machine: Machine) -> str:
    return machine.gpu.link_kind or "NVLink"


def _without_link(asking: Asking, machine: Machine) -> Answer:
    """A GPU that has no such link: what its exchanges take at most is what one could save."""
    made = asking.estimate(machine)
    crossing: list[Part] = [part for part in made.time if part.limit is Limit.LINK]
    whole = sum(part.figure.value for part in made.time)
    spent = sum(part.figure.value for part in crossing)
    if not whole:
        raise InputError(msg("answers.nvlink.no_time", why=made.reason))
    rate = str(show(machine.link_bytes_per_s or 0.0, Unit.BYTE_PER_S, Display()))
    says = msg("answers.nvlink.none_on_gpu", gpu=machine.gpu.name, share=percent(spent / whole, 1), rate=rate)
    lines = tuple(Line(f"nvlink.part.{part.id}", part.figure, _part_name(part.id, made)) for part in crossing)
    return Answer("nvlink", says, lines)
