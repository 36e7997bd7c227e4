"""What the README says works as it stands there: its tour, its links and its pictures."""

import re
import shlex

import pytest

from gpuplanner.cli.main import main

COMMAND = re.compile(r"^\s*\.venv/bin/python -m gpuplanner (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
NOT_FITTING = re.compile(r"--gpus 1$|--why-not \S+$")
"""The steps of the tour that are about machines that do not carry the plan."""


def test_every_command_of_the_tour_runs(project_root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = COMMAND.findall((project_root / "README.md").read_text(encoding="utf-8"))
    assert len(commands) >= 8
    for line in commands:
        words, _, target = line.partition(" > ")
        code = main(shlex.split(words))
        said = capsys.readouterr()
        # A probe shows each command that it runs, and where what came is kept.
        told = ("$ ", "Kept as run ") if line.startswith("probe ") else ()
        errors = [each for each in said.err.splitlines() if not each.startswith(told)]
        assert (code, errors) == (1 if NOT_FITTING.search(line) else 0, []), line
        assert said.out.strip(), line
        if target:
            (tmp_path / target).write_text(said.out, encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "catalogs/README.md", "packaging/README.md"])
def test_every_link_leads_somewhere(project_root, name):
    text = (project_root / name).read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (project_root / name).parent.joinpath(link).exists()]
    assert missing == []
