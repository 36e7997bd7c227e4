"""What a person says of the data that work reads: where they lie, how fast that is, who prepares them. Types only."""

from enum import StrEnum

from pydantic import Field

from gpuplanner.units import Unit
from gpuplanner.workload.said import Said
from gpuplanner.workload.wizard import ask


class Storage(StrEnum):
    """Where files lie. SHARED: a file system that serves all nodes together; the others serve each node at its rate."""

    LOCAL = "local"
    NETWORK = "network"
    OBJECT = "object"
    SHARED = "shared"


class ReadsData(Said):
    """Work that reads data while it runs.

    `data_storage`: where they lie, None where nobody says. `storage_bytes_per_s`: what one node reads of it, or all
    nodes together of a shared one; None: the rule of thumb for that kind of storage, and unknown without a kind.
    """

    data_storage: Storage | None = Field(None, json_schema_extra=ask("way", advanced=True))
    storage_bytes_per_s: float | None = Field(
        None, ge=1.0, le=1e15, json_schema_extra=ask("way", Unit.BYTE_PER_S, advanced=True)
    )

    @property
    def reads(self) -> bool:
        """Whether anything is read while the work runs."""
        return True


class PreparesData(ReadsData):
    """Work whose data the CPU prepares: it decodes and varies them, or turns text into tokens.

    `vcpus`: CPU threads of a node that the work may use, None for all that the machine has. `workers`: processes that
    prepare data for one GPU (`num_workers` of a PyTorch DataLoader), None for as many as there are cores, 0 where the
    process that trains prepares them itself and nothing runs ahead.
    """

    vcpus: int | None = Field(None, ge=1, le=1_000_000, json_schema_extra=ask("way", Unit.COUNT, advanced=True))
    workers: int | None = Field(None, ge=0, le=10_000, json_schema_extra=ask("way", Unit.COUNT, advanced=True))

    @property
    def prepares(self) -> bool:
        """Whether the CPU has anything to do for what is read."""
        return self.reads
