"""One overlay file as entries by section. Parses; judges only its shape.

A YAML file has any of `sources`, `gpus`, `instances`, `models`, `rates`; a CSV file has GPUs when it has a column of
their sizes, else instances or only prices for those of the catalog.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuplanner.catalog.files.csv_file import parse_csv
from gpuplanner.catalog.files.records import Fields, Record, near
from gpuplanner.catalog.files.text import decode
from gpuplanner.catalog.files.yaml_file import parse_yaml
from gpuplanner.catalog.gpu_fields import GPU_NUMBERS, GPU_TEXTS
from gpuplanner.catalog.instances import INSTANCE_FIELDS
from gpuplanner.catalog.problems import Problem, Refused, Severity
from gpuplanner.catalog.sources import OwnSources, Sources, read_sources
from gpuplanner.messages import msg

COLUMN_SYNONYMS = {
    "厂商": "provider", "云厂商": "provider", "服务商": "provider", "供应商": "provider",
    "实例": "name", "实例名称": "name", "实例规格": "name", "规格": "name",
    "gpu型号": "gpu", "显卡": "gpu", "显卡型号": "gpu", "gpu数量": "gpu_count", "卡数": "gpu_count",
    "单卡显存(gb)": "gpu_memory_gb", "单卡显存（gb）": "gpu_memory_gb", "vcpu": "vcpus", "cpu核数": "vcpus",
    "内存(gib)": "ram_gib", "内存（gib）": "ram_gib",
    "每小时价格": "price_per_hour", "小时单价": "price_per_hour", "按量价格": "price_per_hour",
    "月价": "price_per_month", "包月价格": "price_per_month", "竞价": "spot_per_hour", "报价": "quoted_per_hour",
    "货币": "currency", "币种": "currency", "地域": "region", "区域": "region", "日期": "price_date",
    "价格日期": "price_date", "来源": "source", "备注": "note_zh", "已核对": "checked",
}  # fmt: skip
"""Columns as Chinese price lists head them. Where a unit is not clear from the words there is none."""
_GPU_COLUMNS = (
    *("id", "name", "vendor", "aliases", *GPU_TEXTS, "link_is_bridge", "sparsity", "source", "note", "note_zh"),
    *GPU_NUMBERS,
)
_OF_A_GPU = frozenset({"memory_gb", "memory_bandwidth_gb_per_s"})
_REQUIRED_COLUMNS = {"gpus": ("name", "vendor"), "instances": ("provider", "name")}
_SECTIONS = ("sources", "gpus", "instances", "models", "rates")


@dataclass(slots=True)
class OverlayFile:
    """One overlay: its entries by section, how they name sources, and what is wrong so far.

    The entries of a CSV file can be gone through once. `top` is the whole of a YAML file.
    """

    problems: list[Problem]
    source_of: OwnSources
    sections: dict[str, Iterable[Record]] = field(default_factory=dict)
    top: Record | None = None


def parse_overlay(path: Path, content: bytes, sources: Sources) -> OverlayFile:
    """The entries of a file. Raises Refused when nothing of it can be used."""
    text = decode(content, path)
    return _table(path, text, sources) if path.suffix.lower() == ".csv" else _yaml(path, text, sources)


def _yaml(path: Path, text: str, sources: Sources) -> OverlayFile:
    problems: list[Problem] = []
    top = parse_yaml(text, path)
    fields = Fields(top, problems)
    fields.only(_SECTIONS)
    sections: dict[str, Iterable[Record]] = {
        name: tuple(fields.records(name)) for name in ("gpus", "instances", "models")
    }
    return OverlayFile(problems, OwnSources(sources, path.name, read_sources(top, problems)), sections, top)


def _table(path: Path, text: str, sources: Sources) -> OverlayFile:
    problems: list[Problem] = []
    columns, rows = parse_csv(text, path, problems, COLUMN_SYNONYMS)
    section = "instances" if _OF_A_GPU.isdisjoint(columns) else "gpus"
    known = INSTANCE_FIELDS if section == "instances" else _GPU_COLUMNS
    _check_columns(path.name, columns, _REQUIRED_COLUMNS[section])
    _unknown_columns(path.name, columns, known, problems)
    used = frozenset(columns) & frozenset(known)
    records = rows if used == frozenset(columns) else _only(rows, used)
    return OverlayFile(problems, OwnSources(sources, path.name, {}), {section: records})


def _only(rows: Iterable[Record], used: frozenset[str]) -> Iterator[Record]:
    for row in rows:
        values = {name: value for name, value in row.values.items() if name in used}
        if values:
            yield replace(row, values=values)


def _check_columns(file: str, columns: Iterable[str], required: Iterable[str]) -> None:
    missing = [name for name in required if name not in columns]
    if missing:
        raise Refused(Problem(file, 1, "", msg("overlay.file.missing_column", columns=", ".join(missing))))


def _unknown_columns(file: str, columns: Iterable[str], known: Iterable[str], problems: list[Problem]) -> None:
    names = tuple(known)
    for column in columns:
        if column not in names:
            what = msg("overlay.file.unknown_column", near=near(column, names))
            problems.append(Problem(file, 1, column, what, Severity.WARNING))
