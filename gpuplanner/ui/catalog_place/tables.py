"""The three tables of the catalog: what each holds, where it is, and which column a bare number is about. No Qt."""

from dataclasses import dataclass
from enum import StrEnum

from gpuplanner.messages import Message, msg
from gpuplanner.ui.pins import PinKind
from gpuplanner.ui.table.columns import SortKey


class CatalogTable(StrEnum):
    """A table, by its id in the index."""

    GPUS = "gpus"
    INSTANCES = "instances"
    MODELS = "models"

    @property
    def label(self) -> Message:
        """What it is called."""
        return msg(f"search.table.{self.value}")

    @property
    def kind(self) -> PinKind:
        """What one of its rows is."""
        return _KINDS[self]

    @property
    def main_number(self) -> str:
        """The column that a number without a name is about: `>=80` asks for memory, or for parameters."""
        return _MAIN_NUMBERS[self]

    @property
    def first_order(self) -> tuple[SortKey, ...]:
        """How rows stand before a person sorts: the fastest GPUs, the newest prices, models by family."""
        return _FIRST_ORDERS[self]


_KINDS = {
    CatalogTable.GPUS: PinKind.GPU,
    CatalogTable.INSTANCES: PinKind.INSTANCE,
    CatalogTable.MODELS: PinKind.MODEL,
}
_MAIN_NUMBERS = {
    CatalogTable.GPUS: "memory_bytes",
    CatalogTable.INSTANCES: "gpu_memory_each",
    CatalogTable.MODELS: "parameters",
}
_FIRST_ORDERS = {
    CatalogTable.GPUS: (
        SortKey("hbm_bytes_per_s", descending=True),
        SortKey("memory_bytes", descending=True),
        SortKey("name"),
    ),
    CatalogTable.INSTANCES: (SortKey("price_date", descending=True), SortKey("provider"), SortKey("name")),
    CatalogTable.MODELS: (SortKey("family"), SortKey("name")),
}


@dataclass(frozen=True, slots=True)
class EntryRef:
    """An entry of the catalog: which table it stands in, and its id."""

    table: CatalogTable
    id: str

    @property
    def path(self) -> str:
        """The entry as a path of this place: `gpu/nvidia-l4`."""
        return f"{self.table.kind.value}/{self.id}"


def read_path(path: str) -> CatalogTable | EntryRef | None:
    """What a path of this place means: a table (`gpus`), an entry (`gpu/nvidia-l4`), or nothing."""
    if path in set(CatalogTable):
        return CatalogTable(path)
    kind, _, entry_id = path.partition("/")
    table = next((table for table in CatalogTable if table.kind.value == kind), None)
    return EntryRef(table, entry_id) if table is not None and entry_id else None
