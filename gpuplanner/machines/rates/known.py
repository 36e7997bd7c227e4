"""What the rates of a machine are held against, brought together by who has the catalog. Computes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuplanner.acceptance.check import CheckRule
from gpuplanner.acceptance.promised import Promised
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu
from gpuplanner.engine.estimate import Estimate
from gpuplanner.messages import Message


@dataclass(frozen=True, slots=True)
class Known:
    """`promised`: what the checks hold the machine against; `rules`: the rules of the checks by id; `gpu`: the promised
    one as the catalog has it, None where the catalog does not know which it is.

    `planned`: the estimate of a plan with its derivations; `no_plan`: why there is none, where a plan was asked for.
    """

    promised: Promised
    rules: Mapping[str, CheckRule]
    efficiencies: Efficiencies
    gpu: Gpu | None = None
    planned: Estimate | None = None
    no_plan: Message | None = None
