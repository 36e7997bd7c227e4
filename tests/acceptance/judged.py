"""Evidence built by hand and what a check says of it, for the tests of the checks."""

from dataclasses import replace
from typing import Any

from gpuplanner.acceptance.check import Asked, Judgement
from gpuplanner.acceptance.checks import checks
from gpuplanner.acceptance.compatibility import read_compatibility
from gpuplanner.acceptance.promised import NOTHING, Promised, PromisedGpu
from gpuplanner.acceptance.rules import read_rules
from gpuplanner.messages import Language, Translator, msg
from gpuplanner.paths import shipped
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.record import Absent, Lacking, Record, Seen

RULES = read_rules(shipped("catalogs") / "checks")
COMPATIBILITY = read_compatibility(shipped("catalogs") / "compatibility")
ENGLISH = Translator(Language.ENGLISH)
CHINESE = Translator(Language.CHINESE)
BY_ID = {check.id: check for check in checks()}

H100 = PromisedGpu(
    id="h100", name="H100", memory_mib=81559, memory_is_reported=True, compute_capability="9.0", architecture="Hopper",
    power_w=700, pcie_generation=5, pcie_lanes=16, link_kind="NVLink 4", nvlink_lanes=18, link_bytes_per_s=450e9,
    hbm_bytes_per_s=3350e9, pcie_bytes_per_s=63e9, flop_per_s={"bf16": 989e12},
)  # fmt: skip
A6000 = replace(
    H100, id="a6000", name="A6000", link_kind="NVLink 3 bridge", link_is_bridge=True, nvlink_lanes=4,
    link_bytes_per_s=56.25e9,
)  # fmt: skip


def promising(gpu: PromisedGpu | None = None, **more: Any) -> Promised:
    """A promise that somebody made."""
    return Promised(said_by=msg("check.promise.none"), gpu=gpu, **more)


def absent(*fields: str, reason: Lacking = Lacking.NOT_SUPPORTED) -> dict[str, Absent]:
    """That these fields stand there without a value."""
    return {field: Absent(reason=reason, seen=Seen(source="f", line=1, text="N/A")) for field in fields}


def gpus(count: int = 2, name: str = "NVIDIA H100 80GB HBM3", **fields: Any) -> tuple[Gpu, ...]:
    """So many GPUs alike."""
    return tuple(Gpu(index=at, name=name, vendor="nvidia", **seen(fields)) for at in range(count))


def seen(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with a line for each."""
    lines = {name: Seen(source="f", line=1, text=name) for name in fields if name != "absent"}
    return {**fields, "seen": lines}


def judge(
    check_id: str, promised: Promised = NOTHING, *, root: bool | None = None, **sections: Any
) -> Judgement | None:
    """What a check says of this evidence; also that it can be said in both languages."""
    evidence = Evidence(**{
        name: (value,) if isinstance(value, Record) and name not in {"cpu", "memory", "limits", "system", "software"}
        else value
        for name, value in sections.items()
    })  # fmt: skip
    judgement = BY_ID[check_id].judge(Asked(evidence, promised, RULES[check_id], root, compatibility=COMPATIBILITY))
    if judgement is not None:
        for message in (judgement.reason, judgement.expected, judgement.measured, judgement.do, judgement.ask):
            if message is not None:
                assert ENGLISH.text(message)
                assert CHINESE.text(message)
    return judgement
