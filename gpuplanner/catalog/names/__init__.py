"""Names of GPUs, instances and models as tools, clouds and people print them. No likeness ever decides."""

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.names.resolution import Candidate, Kind, Resolution, Share, Slice, Technology
from gpuplanner.catalog.names.resolver import Names
from gpuplanner.catalog.names.tables import NameTables, read_name_tables
from gpuplanner.paths import shipped

__all__ = [
    "Candidate", "Kind", "NameTables", "Names", "Resolution", "Share", "Slice", "Technology", "names_of",
    "read_name_tables", "resolve",
]  # fmt: skip


def names_of(catalog: Catalog) -> Names:
    """All names of a catalog, with the names data that comes with the app. To be kept as long as the catalog."""
    return Names(catalog, read_name_tables(shipped("catalogs") / "names"))


def resolve(
    catalog: Catalog, text: str, *, kind: Kind | str | None = None, memory_bytes: float | None = None
) -> Resolution:
    """What one name means. Who has many names to resolve keeps a `Names` (see `names_of`) and asks that."""
    return names_of(catalog).resolve(text, kind=kind, memory_bytes=memory_bytes)
