"""Programs that run on the machine that is probed, sent there as text: standard library only, Python 3.6 and later.

They write, install and change nothing, and leave nothing running.
"""

from importlib.resources import files


def source_of(program: str) -> str:
    """The text of one of the programs here, by its file's name; a Python one goes without `.py`."""
    name = program if "." in program else f"{program}.py"
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def bundle(*programs: str) -> str:
    """The text of several Python programs as one; what they import of each other stands in it already."""
    lines = []
    for program in programs:
        inside = False
        for line in source_of(program).splitlines():
            if line.startswith(f"from {__name__}."):
                inside = line.endswith("(")
            elif inside:
                inside = line != ")"
            else:
                lines.append(line)
    return "\n".join(lines) + "\n"
