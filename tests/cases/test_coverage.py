"""Every public case of the kinds in scope is a test that works something out, or stands in a list with the reason."""

import ast
import builtins
import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

KINDS = {
    "kv-limit", "finetune-oom", "estimator-bug", "selection", "data-bottleneck", "slow-multigpu", "cloud-not-as-sold",
    "driver-mismatch",
}  # fmt: skip
HERE = Path(__file__).parent
NOT_COVERED: dict[str, str] = yaml.safe_load((HERE / "not_covered.yaml").read_text(encoding="utf-8"))
NAME = re.compile(r"test_([a-z]+\d+[a-z]?)(?:_|$)")
ID = re.compile(r"([A-Z]+\d+[a-z]?)\b")


def ids_in(node: ast.AST) -> set[str]:
    """The ids that texts begin with."""
    texts = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return {found[1].upper() for text in texts if (found := ID.match(text))}


def names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def calls_in(node: ast.AST) -> bool:
    """Whether something of ours is called: no function of Python itself, no method of a literal."""
    called = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    return any(names_in(function) - set(dir(builtins)) - {"pytest"} for function in called)


def works_out(test: ast.FunctionDef) -> bool:
    """Whether a test asserts something of a value that it had computed, or that computing is refused."""
    computed: set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign | ast.For | ast.comprehension) and (
            value := node.iter if isinstance(node, ast.For | ast.comprehension) else node.value
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if calls_in(value) or names_in(value) & computed:
                computed |= {name for target in targets for name in names_in(target)}
    asserted = [node.test for node in ast.walk(test) if isinstance(node, ast.Assert)]
    refused = [
        node
        for node in ast.walk(test)
        if isinstance(node, ast.With) and any("raises" in ast.dump(item.context_expr) for item in node.items)
    ]
    return any(calls_in(told) or names_in(told) & computed for told in asserted) or any(
        calls_in(line) for node in refused for line in node.body
    )


def read_tests(source: str) -> Iterator[tuple[ast.FunctionDef, set[str]]]:
    """Each test with the ids that its name or its parameters name."""
    module = ast.parse(source)
    tables = {
        target.id: ids_in(node.value)
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            ids = {named[1].upper()} if (named := NAME.match(node.name)) else set()
            for decorator in node.decorator_list:
                ids |= ids_in(decorator).union(*(tables.get(name, set()) for name in names_in(decorator)))
            yield node, ids


def covered_ids() -> set[str]:
    """The ids of tests that work something out."""
    found = set()
    for path in HERE.glob("test_*.py"):
        if path != Path(__file__):
            for test, ids in read_tests(path.read_text(encoding="utf-8")):
                found |= ids if works_out(test) else set()
    return found


@pytest.fixture(scope="module")
def cases(shared_dir) -> set[str]:
    with (shared_dir / "cases" / "cases.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"].upper() for row in csv.DictReader(file) if row["kind"] in KINDS}


@pytest.mark.parametrize(
    "body",
    ["pass", "assert True", "assert 1 + 1 == 2", "made = run()", "assert len([1]) == 1", "assert expected == 1"],
)
def test_a_name_alone_covers_no_case(body):
    ((test, ids),) = read_tests(f"def test_kv1_is_told(run, expected):\n    {body}\n")
    assert ids == {"KV1"}
    assert not works_out(test)


@pytest.mark.parametrize(
    "body",
    ["assert run(1).fit", "made = run(1)\n    assert made.fit", "with pytest.raises(InputError):\n        run(1)"],
)
def test_a_case_is_covered_by_what_is_worked_out(body):
    source = f'@pytest.mark.parametrize("x", [("KV2", 1)])\ndef test_what_fits(run, x):\n    {body}\n'
    ((test, ids),) = read_tests(source)
    assert "KV2" in ids
    assert works_out(test)


def test_each_case_is_a_test_or_stands_in_the_list(cases):
    left = cases - covered_ids() - set(NOT_COVERED)
    assert sorted(left) == []


def test_the_list_names_cases_that_exist_and_have_no_test(cases):
    assert sorted(set(NOT_COVERED) - cases) == []
    assert sorted(set(NOT_COVERED) & covered_ids()) == []
    assert all(reason.strip() for reason in NOT_COVERED.values())
