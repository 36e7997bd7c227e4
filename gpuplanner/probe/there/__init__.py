"""Programs that run on the machine that is probed, sent there as text: standard library only, Python 3.6 and later.

They write, install and change nothing, and leave nothing running.
"""

from importlib.resources import files


def source_of(program: str) -> str:
    """The text of one of the programs here, by its file's name; a Python one goes without `.py`."""
    name = program if "." in program else f"{program}.py"
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
