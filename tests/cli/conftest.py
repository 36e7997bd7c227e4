"""What the tests of commands share: a command that is run, and what those need that speak to a machine."""

import pytest

from gpuplanner.cli.main import main
from tests.probe.native_libraries import compiled_libraries, libraries

__all__ = ["compiled_libraries", "libraries"]


@pytest.fixture
def run(capsys):
    """Runs a command; gives back its exit code, what it printed and what it said beside it."""

    def call(*arguments):
        code = main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call
