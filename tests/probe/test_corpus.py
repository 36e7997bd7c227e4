"""Every recording is recognised by its content and read, or stands in `corpus_exceptions.yaml` with the reason.

The recordings are not committed; without them beside the checkout these tests are skipped and say so.
"""

from pathlib import Path

import pytest
import yaml

from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import parsers

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
LISTED = yaml.safe_load((Path(__file__).parent / "corpus_exceptions.yaml").read_text(encoding="utf-8"))
EXCEPTIONS = LISTED["files"]
TOOLS = {parser.tool for parser in parsers()}
FOLDERS = sorted(path.name for path in CORPUS.iterdir() if path.is_dir()) if CORPUS.is_dir() else []
FILES = sorted(f"{folder}/{path.name}" for folder in FOLDERS if folder in TOOLS for path in (CORPUS / folder).iterdir())


@pytest.mark.skipif(not FILES, reason="the recordings are not beside this checkout")
@pytest.mark.parametrize("file", FILES or ["none"])
def test_a_recording_is_recognised_and_read(file):
    path = CORPUS / file
    inspection = inspect(Output.of(path.read_bytes(), path.name))
    expected = EXCEPTIONS.get(file, {})
    assert inspection.tool == expected.get("tool", path.parent.name), expected.get("reason")
    if not expected.get("nothing"):
        assert not inspection.evidence.empty


@pytest.mark.skipif(not FOLDERS, reason="the recordings are not beside this checkout")
def test_each_tool_has_its_parser_or_stands_in_the_list():
    assert set(FOLDERS) - TOOLS == set(LISTED["tools_without_a_parser"])


def test_no_exception_is_without_its_recording_or_its_reason():
    assert all(exception.get("reason") for exception in EXCEPTIONS.values())
    assert not FOLDERS or {file for file in EXCEPTIONS if not (CORPUS / file).is_file()} == set()
