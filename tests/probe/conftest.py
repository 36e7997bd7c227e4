"""What the tests of machines share."""

from tests.probe.native_libraries import compiled_libraries, libraries, start

__all__ = ["compiled_libraries", "libraries", "start"]
