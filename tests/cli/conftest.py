"""What the tests of commands share that speak to a machine."""

from tests.probe.native_libraries import compiled_libraries, libraries

__all__ = ["compiled_libraries", "libraries"]
