"""`dcgmi diag -j`: each test with its result for each GPU, in the form of DCGM 3 and in that of DCGM 4."""

from collections.abc import Iterator
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Diagnostic
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.json_lines import Places, content_of
from gpuplanner.probe.parsers.nvidia_values import version
from gpuplanner.probe.values import Reading, words

_NAMES = ("DCGM GPU Diagnostic", "DCGM Diagnostic")
"""Of DCGM 3, and of DCGM 4."""
_VERSIONS = {
    "version": ("dcgm_version", version),
    "driver_version": ("driver_version", version),
    "Driver Version Detected": ("driver_version", version),
}
_MOST = 5_000


def recognise(output: Output) -> int:
    """Certain by the name of the document's block."""
    if not any(f'"{name}"' in output.text for name in _NAMES):
        return NO
    return CERTAIN if _block(_document(output)) is not None else NO


def parse(output: Output) -> Parsed:
    """The tests in order; the versions."""
    document = _document(output)
    block = _block(document) or {}
    places = Places(output)
    software = Reading(output)
    metadata = document.get("metadata")
    for held in (block, metadata if isinstance(metadata, dict) else {}):
        for key, (field, convert) in _VERSIONS.items():
            if isinstance(held.get(key), str):
                software.take(field, held[key], convert, places.of(key, held[key]))
    tests: list[Diagnostic] = []
    for test, result in _results(block):
        if len(tests) == _MOST:
            break
        reading = Reading(output)
        reading.take("test", test, words, places.of("name", test))
        if entity := _entity(result):
            reading.put("entity", entity, places.of("name", test))
        if isinstance(result.get("status"), str):
            reading.take("result", result["status"], words, places.of("status", result["status"]))
        if said := _said(result):
            reading.take("said", said, words, places.of("status", result.get("status")))
        tests.append(reading.made(Diagnostic, tool="dcgmi diag"))
    evidence = Evidence(
        software=software.made(Software) if software else None,
        diagnostics=tuple(tests),
        looked_for=frozenset({"diagnostics"}),
    )
    return Parsed(evidence)


def _document(output: Output) -> dict[str, Any]:
    content = content_of(output)
    return content if isinstance(content, dict) else {}


def _block(document: dict[str, Any]) -> dict[str, Any] | None:
    return next((document[name] for name in _NAMES if isinstance(document.get(name), dict)), None)


def _dicts(held: object) -> list[dict[str, Any]]:
    """What of a list is a mapping: DCGM 3 wrote nulls between them."""
    return [each for each in held if isinstance(each, dict)] if isinstance(held, list) else []


def _results(block: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for category in _dicts(block.get("test_categories")):
        for test in _dicts(category.get("tests")):
            name = test.get("name")
            for result in _dicts(test.get("results")):
                yield name if isinstance(name, str) else "", result


def _entity(result: dict[str, Any]) -> str | None:
    group, number, several = result.get("entity_group"), result.get("entity_id"), result.get("gpu_ids")
    if isinstance(group, str) and isinstance(number, int):
        return f"{group[:40]}{number}"
    if isinstance(several, str) and several.strip():
        numbers = [each.strip() for each in several[:2_000].split(",")]
        return f"GPU{numbers[0]}" if len(numbers) == 1 else f"GPUs: {', '.join(numbers)}"
    return None


def _said(result: dict[str, Any]) -> str:
    """The first warning, else the first remark."""
    for key in ("warnings", "info"):
        for each in result[key] if isinstance(result.get(key), list) else ():
            text = each.get("warning") if isinstance(each, dict) else each
            if isinstance(text, str) and text.strip():
                return text
    return ""


PARSER = Parser("dcgmi", recognise, parse)
