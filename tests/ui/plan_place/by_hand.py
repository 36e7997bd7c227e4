"""A workspace for tests of the Plan place: the real catalog and store, and an engine that answers at once, by hand.

Its estimates follow the plan (more requests need more memory and time), so that a test sees an edit arrive.
"""

import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.estimate import Change, Estimate, Fit, HostNeed, Limit, Memory, Part, Phase, Way
from gpuplanner.engine.formulas.gemm import overlapped_seconds, read_seconds
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import choice_of, machine_of
from gpuplanner.engine.search.result import Broken, Candidate, Rejection, SearchResult
from gpuplanner.figures import Certainty, Figure, Origin, Rung, exact, recording
from gpuplanner.messages import InputError, msg
from gpuplanner.paths import shipped
from gpuplanner.store.plan_files import read_plan
from gpuplanner.store.store import Store, open_store
from gpuplanner.units import GIB, Unit
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training

H100 = "nvidia-h100-sxm5-80gb"
L40S = "nvidia-l40s"


class FakeWorkspace:
    """What the place asks of a workspace. `delay_s`: how long a search takes; `fault`: what an estimate raises."""

    def __init__(self, home: Path, catalog: Catalog, efficiencies: Efficiencies) -> None:
        self.home = home
        self.catalog = catalog
        self.efficiencies = efficiencies
        self.store: Store = open_store(home)
        self.delay_s = 0.0
        self.fault: InputError | None = None
        self.estimated: list[Plan] = []
        self.searched: list[Plan] = []
        self.none_fits = False
        self.own: tuple[Any, ...] = ()

    def own_in_use(self) -> tuple[Any, ...]:
        return self.own

    def measurements_changed(self) -> None:
        """What the real one forgets is not kept here."""

    def understood(self, run: Any, name: str, plan: Plan | None) -> Any:
        raise InputError(msg("own.file.unknown", file=name))

    @property
    def presets(self) -> Mapping[str, Plan]:
        folder = shipped("resources") / "presets"
        return {path.stem: read_plan(path) for path in sorted(folder.glob("*.gpuplan"))}

    def sample(self) -> Plan:
        return read_plan(shipped("resources") / "sample" / "sample.gpuplan")

    def stamped(self, plan: Plan) -> Plan:
        return plan.model_copy(update={"app_version": "test"})

    def machine(self, choice: MachineChoice) -> Machine:
        return machine_of(choice, self.catalog, self.catalog.currencies)

    def rates(self) -> Mapping[str, Any]:
        return self.catalog.currencies

    def resolve(self, text: str) -> Any:
        from gpuplanner.catalog.names import names_of

        return names_of(self.catalog).resolve(text)

    def explained(self, plan: Plan) -> Estimate:
        return self.estimate(plan)

    def advised(self, made: Estimate) -> Estimate:
        return made

    def estimate(self, plan: Plan) -> Estimate:
        self.estimated.append(plan)
        if self.fault is not None:
            raise self.fault
        if plan.machine is None:
            raise InputError(msg("workspace.no_machine"))
        return estimate_by_hand(plan, self.machine(plan.machine))

    def search(self, plan: Plan, cancelled: Callable[[], bool]) -> SearchResult:
        self.searched.append(plan)
        end = time.monotonic() + self.delay_s
        total = 0
        while time.monotonic() < end and not cancelled():
            total += sum(range(500))
        return search_by_hand(plan, self, none_fits=self.none_fits)

    def close(self) -> None:
        self.store.close()


def pressure(plan: Plan) -> float:
    """How much the plan asks for, in GiB of cache or batch."""
    workload = plan.workload
    if isinstance(workload, Serving):
        return (workload.concurrency or 1) * (workload.input_tokens + workload.output_tokens) / 160_000 * 23.4
    if not isinstance(workload, Training):
        return 1.0
    return workload.global_batch * workload.sequence_length / 262_144 * 20


def ranged(value: float, unit: Unit, rung: Rung = Rung.SAME_GPU) -> Figure:
    """A calibrated figure with a range of a sixth."""
    why = msg("explain.calibrated", points=14)
    return Figure(value, unit, Certainty.CALIBRATED, value * 0.87, value * 1.16, rung, why)


def step_figure(machine: Machine, weight_bytes: float) -> Figure:
    """The time of a step with a derivation of two levels, out of the engine's own formulas."""
    hbm = machine.gpu.known(GpuProperty.HBM_BYTES_PER_S)
    rate = hbm.value if hbm else 1e12
    origins = {
        "hbm_bytes_per_s": Origin(Certainty.EXACT, hbm.fact if hbm else None),
        "hbm_share": Origin(Certainty.CALIBRATED, None, msg("explain.calibrated", points=14)),
    }
    with recording(origins) as kept:
        read_s = read_seconds(weight_bytes, rate, 0.66)
        value = overlapped_seconds(read_s, 0.0061, 0.4)
    assert isinstance(value, float)
    figure = ranged(value, Unit.SECOND)
    return Figure(
        value, Unit.SECOND, figure.certainty, figure.low, figure.high, figure.rung, figure.why, kept.steps[-1]
    )


def estimate_by_hand(plan: Plan, machine: Machine) -> Estimate:
    """An estimate that follows the plan, with every kind of thing in it that a view has to show."""
    kv = pressure(plan) / machine.gpus * 2
    parts = [
        ("weights", 33.0 * 2 / machine.gpus),
        ("kv_cache", kv),
        ("activations", 3.9),
        ("nccl", 2.1),
        ("context", 1.3),
    ]
    usable = 79.6 * GIB
    needed = sum(gib for _, gib in parts) * GIB
    free = usable - needed
    fit = Fit.FITS if free > 2 * GIB else Fit.TIGHT if free >= 0 else Fit.DOES_NOT_FIT
    serving = isinstance(plan.workload, Serving)
    tpot = step_figure(machine, 35.4e9)
    phases = tuple(
        Phase(
            name,
            tuple(Part(part, exact(gib * GIB * scale, Unit.BYTE)) for part, gib in parts),
            exact(needed * scale, Unit.BYTE),
        )
        for name, scale in (("load", 0.6), ("prefill", 0.9), ("decode", 1.0))
    )
    time_parts = tuple(
        Part(name, ranged(seconds, Unit.SECOND), limit)
        for name, seconds, limit in (
            ("weights_read", 0.016, Limit.HBM),
            ("attention", 0.0065, Limit.HBM),
            ("all_reduce", 0.0044, Limit.LINK),
            ("launch", 0.0041, Limit.LATENCY),
        )
    )
    metrics: dict[str, Figure] = (
        {
            "tpot_s": tpot,
            "ttft_s": ranged(0.9, Unit.SECOND),
            "output_tokens_per_s": ranged(2050.0, Unit.TOKEN_PER_S),
            "resident_sequences": exact(64.0, Unit.COUNT),
            "max_concurrency": exact(87.0, Unit.COUNT),
            "max_length": exact(32_768.0, Unit.TOKEN),
            "kv_bytes_per_token": exact(163_840.0, Unit.BYTE_PER_TOKEN),
        }
        if serving
        else {
            "step_s": ranged(2.4, Unit.SECOND),
            "tokens_per_s": ranged(108_000.0, Unit.TOKEN_PER_S),
            "mfu": ranged(0.41, Unit.RATIO),
            "job_s": ranged(86400.0 * 3.2, Unit.SECOND),
        }
    )
    if machine.usd_per_hour is not None:
        metrics["usd_per_hour"] = exact(machine.usd_per_hour, Unit.MONEY_PER_HOUR)
        metrics["usd_per_month"] = exact(machine.usd_per_hour * 730, Unit.MONEY)
        metrics["usd_per_mtoken"] = ranged(0.81, Unit.MONEY_PER_MTOKEN)
    metrics["power_w"] = Figure(1100.0, Unit.WATT, Certainty.RULE, 900.0, 1400.0, why=msg("host.why_power"))
    smaller = plan.model_copy(
        update={
            "workload": plan.workload.model_copy(
                update={"concurrency": 11} if serving else {"micro_batch": 1},
            )
        }
    )
    change = Change(
        msg("change.concurrency", count=11) if serving else msg("planui.way.micro_batch", count=1),
        smaller,
        Fit.FITS,
        8.2 * GIB,
        ranged(0.024, Unit.SECOND),
        "tpot_s" if serving else "step_s",
    )
    return Estimate(
        plan=plan,
        machine=machine,
        way=Way(tensor_parallel=machine.gpus_per_node, choices={"sharding": "fsdp", "recomputation": "full"}),
        fit=fit,
        reason=msg(
            "limits.memory.fits" if free > 0 else "limits.memory.does_not_fit",
            needed="68.9 GiB",
            usable="79.6 GiB",
            free="10.7 GiB",
        ),
        memory=Memory(
            exact(usable, Unit.BYTE), ranged(needed, Unit.BYTE), exact(71.6 * GIB, Unit.BYTE), phases, "decode"
        ),
        step_name="decode_step" if serving else "train_step",
        time=time_parts,
        limits=((Limit.HBM, 0.73), (Limit.LINK, 0.14), (Limit.LATENCY, 0.13)),
        metrics=metrics,
        host=(
            HostNeed("vcpus", ranged(12.0, Unit.COUNT), machine.host.vcpus, ()),
            HostNeed("ram", ranged(96 * GIB, Unit.BYTE), machine.host.ram_bytes, ()),
            HostNeed("storage_rate", ranged(1.2e9, Unit.BYTE_PER_S), None, ()),
        ),
        unknown=() if machine.usd_per_hour is not None else (msg("machines.price_unknown", machine=machine.gpu.name),),
        remarks=(*machine.remarks, msg("host.short.ram")),
        unmet=(msg("limits.over_budget.usd_per_month", cost="23,000", budget="20,000"),) if free < 0 else (),
        changes=(change,) if fit is not Fit.FITS else (),
    )


def search_by_hand(plan: Plan, workspace: FakeWorkspace, *, none_fits: bool) -> SearchResult:
    """Every offer of the catalog that can be planned with: eight that carry the plan, the others with a reason."""
    machines: list[Machine] = [workspace.machine(MachineChoice(gpu_id=H100, gpus=2, per_node=2))]
    rejections: list[Rejection] = []
    for instance in workspace.catalog.instances.values():
        try:
            machines.append(workspace.machine(MachineChoice(instance_id=instance.id)))
        except InputError as fault:
            rejections.append(Rejection(instance, None, None, Broken.FACTS, fault.message))
    good = [m for m in machines if (m.gpu_fraction == Fraction(1) and "H100" in m.gpu.name) or "H200" in m.gpu.name]
    good = [] if none_fits else good[:24]
    candidates = tuple(
        Candidate(
            m,
            Way(tensor_parallel=m.gpus_per_node),
            _found(plan, m),
            Fit.FITS if at % 5 else Fit.TIGHT,
            (10 + at) * GIB,
            _metrics(plan, m, at),
        )
        for at, m in enumerate(good)
    )
    kinds = (
        (Broken.MEMORY, 22.1 * GIB, Unit.BYTE),
        (Broken.TPOT, 0.031, Unit.SECOND),
        (Broken.SUPPORT, None, None),
        (Broken.BUDGET_MONTH, 3200.0, Unit.MONEY),
    )
    for at, machine in enumerate(m for m in machines if m not in good):
        broken, over, unit = kinds[at % len(kinds)]
        values = {"value": "71 ms", "limit": "40 ms", "over": "31 ms"}
        reason = msg(f"limits.broken.{broken.value}", **values)
        rejections.append(Rejection(machine.instance, machine.gpu, machine, broken, reason, over, unit))
    return SearchResult(candidates, tuple(rejections), 4212, nearest=tuple(rejections))


def _found(plan: Plan, machine: Machine) -> Plan:
    workload = plan.workload
    if isinstance(workload, Serving | Training) and workload.tensor_parallel is None:
        workload = workload.model_copy(update={"tensor_parallel": machine.gpus_per_node})
    return plan.model_copy(update={"machine": choice_of(machine), "workload": workload})


def _metrics(plan: Plan, machine: Machine, at: int) -> dict[str, float]:
    metrics = {"tpot_s": 0.024 + 0.003 * at, "ttft_s": 0.9 + at / 10, "output_tokens_per_s": 2000.0 - 10 * at}
    if isinstance(plan.workload, Training):
        metrics = {"step_s": 2.0 + at, "tokens_per_s": 1e5, "mfu": 0.4}
        if plan.workload.tokens_in_all is not None:
            metrics |= {"job_s": 86400.0 * (2 + at), "job_usd": 900.0 + at}
    if machine.usd_per_hour is not None:
        metrics |= {"usd_per_month": machine.usd_per_hour * 730, "usd_per_mtoken": 0.5 + at / 10}
        metrics |= {"usd_per_hour": machine.usd_per_hour}
    return metrics
