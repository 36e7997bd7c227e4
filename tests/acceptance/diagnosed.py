"""Texts of tools and the causes that are found in them, for the tests of the diagnosis."""

from functools import cache

from gpuplanner.acceptance.checking import accept
from gpuplanner.acceptance.checks import checks
from gpuplanner.acceptance.compatibility import Compatibility, read_compatibility
from gpuplanner.acceptance.diagnosis import Finding
from gpuplanner.acceptance.diagnosis.finding import CauseRule
from gpuplanner.acceptance.diagnosis.finding_causes import find
from gpuplanner.acceptance.diagnosis.rules import read_causes
from gpuplanner.acceptance.promised import NOTHING, Promised
from gpuplanner.paths import shipped
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.merging import merged
from gpuplanner.probe.output import Output
from tests.acceptance.judged import CHINESE, ENGLISH, RULES


@cache
def cause_rules() -> dict[str, CauseRule]:
    return dict(read_causes(shipped("catalogs") / "diagnosis"))


@cache
def compatibility() -> Compatibility:
    return read_compatibility(shipped("catalogs") / "compatibility")


def of_texts(*texts: str) -> Evidence:
    """What outputs of one machine say together; every one is recognised."""
    found = [inspect(Output.of(text, f"text {at}")) for at, text in enumerate(texts, 1)]
    assert [each.output.name for each in found if each.tool is None] == []
    return merged([each.evidence for each in found])


def diagnosed(*texts: str, promised: Promised = NOTHING, evidence: Evidence | None = None) -> dict[str, Finding]:
    """The findings of texts by their ids in order; each can be said in both languages and shows a line."""
    read = evidence if evidence is not None else of_texts(*texts)
    accepted = accept(read, checks(), RULES, promised, compatibility=compatibility())
    found = find(read, accepted, promised, cause_rules(), compatibility())
    for finding in found:
        assert finding.lines
        assert finding.confirm
        for message in (finding.cause, finding.fix, finding.ask):
            if message is not None:
                assert ENGLISH.text(message)
                assert CHINESE.text(message)
    return {finding.id: finding for finding in found}


def vllm_begins(tensor_parallel: int, model: str = "Qwen/QwQ-32B") -> str:
    """The line in which vLLM says over how many GPUs it splits its model."""
    return (
        "INFO 01-01 10:00:00 llm_engine.py:249] Initializing an LLM engine (v0.8.2) with config: "
        f"model='{model}', tensor_parallel_size={tensor_parallel}, max_seq_len=32768\n"
    )


def said(finding: Finding) -> str:
    """Its sentence in English."""
    return ENGLISH.text(finding.cause)
