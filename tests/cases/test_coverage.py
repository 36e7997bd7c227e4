"""Every public case of the kinds in scope is a test, named by its id, or stands in a list with the reason."""

import csv
import re
from pathlib import Path

import pytest
import yaml

KINDS = {"kv-limit", "finetune-oom", "estimator-bug", "selection"}
HERE = Path(__file__).parent
NOT_COVERED: dict[str, str] = yaml.safe_load((HERE / "not_covered.yaml").read_text(encoding="utf-8"))
NAMED = re.compile(
    r"def test_([a-z]+\d+[a-z]?)(?:_|\()|\bid=\"([A-Z]+\d+[a-z]?)\b|^\s*\"([A-Z]+\d+[a-z]?)\"", re.MULTILINE
)


def covered_ids() -> set[str]:
    """The ids that a test function or a parameter of one is named by."""
    found = set()
    for path in HERE.glob("test_*.py"):
        if path != Path(__file__):
            text = path.read_text(encoding="utf-8")
            found |= {next(filter(None, groups)).upper() for groups in NAMED.findall(text)}
            found |= {i for ids in re.findall(r"ids=\[([^\]]*)\]", text) for i in re.findall(r"[A-Z]+\d+[A-Z]?", ids)}
    return found


@pytest.fixture(scope="module")
def cases(shared_dir) -> set[str]:
    with (shared_dir / "cases" / "cases.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"].upper() for row in csv.DictReader(file) if row["kind"] in KINDS}


def test_each_case_is_a_test_or_stands_in_the_list(cases):
    left = cases - covered_ids() - set(NOT_COVERED)
    assert sorted(left) == []


def test_the_list_names_cases_that_exist_and_have_no_test(cases):
    assert sorted(set(NOT_COVERED) - cases) == []
    assert sorted(set(NOT_COVERED) & covered_ids()) == []
    assert all(reason.strip() for reason in NOT_COVERED.values())
