"""What to run: work that a person describes by its operations, bytes and memory. A type and its defaults only."""

from typing import Literal

from pydantic import Field

from gpuplanner.units import GIB, Unit
from gpuplanner.workload.arithmetic import Arithmetic
from gpuplanner.workload.reads_data import ReadsData
from gpuplanner.workload.said import Amount
from gpuplanner.workload.wizard import ask


class ByHand(ReadsData):
    """Work in equal items that GPUs share out among them: what one item takes, and how many there are.

    `flops`: operations of one item (a multiplication and an addition are two); `moved_bytes`: what one item reads and
    writes in GPU memory; `resident_bytes`: what is in the memory of each GPU however many items it holds, and
    `item_bytes` for each of the `at_once` that it works on together; `exchanged_bytes`: what GPUs sum up for each step
    (0: they work apart); `kernels`: launches of one step; `read_bytes`: what one item reads from storage.
    """

    kind: Literal["by-hand"] = "by-hand"
    flops: Amount = Field(1e12, ge=0, le=1e30, json_schema_extra=ask("use", Unit.FLOP))
    moved_bytes: Amount = Field(GIB, ge=0, le=1e24, json_schema_extra=ask("use", Unit.BYTE))
    arithmetic: Arithmetic = Field(Arithmetic.BF16, json_schema_extra=ask("use"))
    resident_bytes: Amount = Field(8 * GIB, ge=0, le=1e18, json_schema_extra=ask("use", Unit.BYTE))
    item_bytes: Amount = Field(0, ge=0, le=1e18, json_schema_extra=ask("use", Unit.BYTE))
    at_once: int = Field(1, ge=1, le=10_000_000, json_schema_extra=ask("use", Unit.COUNT))

    items: float | None = Field(None, ge=1, le=1e18, json_schema_extra=ask("goals", Unit.COUNT))
    deadline_s: float | None = Field(None, ge=1, le=1e11, json_schema_extra=ask("goals", Unit.SECOND, control="days"))
    rate_goal: float | None = Field(None, ge=1e-9, le=1e15, json_schema_extra=ask("goals", Unit.PER_S))

    exchanged_bytes: Amount = Field(0, ge=0, le=1e18, json_schema_extra=ask("way", Unit.BYTE))
    kernels: int = Field(0, ge=0, le=100_000_000, json_schema_extra=ask("way", Unit.COUNT, advanced=True))
    read_bytes: Amount = Field(0, ge=0, le=1e18, json_schema_extra=ask("way", Unit.BYTE, advanced=True))

    @property
    def reads(self) -> bool:
        return self.read_bytes > 0
