"""The `gpuplanner` command, which is also `python -m gpuplanner`: the window or the command line. Wires neither."""

import os
import sys

_INTERRUPTED = 130


def main() -> int:
    """Open the window when there is nothing to say or only plans to open, else run the command line.

    Returns the exit code.
    """
    # Looking for plugins in every installed package costs a start 15 ms, and none of them is meant for us.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    arguments = sys.argv[1:]
    if all(argument.endswith(".gpuplan") for argument in arguments):
        from gpuplanner.ui.application import main as open_window

        return open_window(arguments)
    sys.unraisablehook = _interrupted_where_nobody_can_catch_it
    try:
        from gpuplanner.cli.main import main as run_command

        return run_command(arguments)
    except KeyboardInterrupt:  # pressed while the command was still being read in
        return _INTERRUPTED


def _interrupted_where_nobody_can_catch_it(fault: "sys.UnraisableHookArgs") -> None:
    """An interrupt that comes within a callback of the interpreter (an import has some) would be told and then lost."""
    if issubclass(fault.exc_type, KeyboardInterrupt):
        os._exit(_INTERRUPTED)
    sys.__unraisablehook__(fault)


if __name__ == "__main__":
    sys.exit(main())
