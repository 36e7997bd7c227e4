"""Programs that run on the machine that is probed, sent there as text: standard library only, Python 3.6 and later.

They write, install and change nothing, and leave nothing running.
"""

import ast
from importlib.resources import files


def source_of(program: str) -> str:
    """The text of one of the programs here, by its file's name; a Python one goes without `.py`."""
    name = program if "." in program else f"{program}.py"
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def bundle(*programs: str) -> str:
    """The text of several Python programs as one, without what explains them to people.

    What they import of each other stands in it already.
    """
    lines = []
    for program in programs:
        inside = False
        for line in _without_explanations(source_of(program)):
            if line.startswith(f"from {__name__}."):
                inside = line.endswith("(")
            elif inside:
                inside = line != ")"
            else:
                lines.append(line)
    return "\n".join(lines) + "\n"


def _without_explanations(text: str) -> list[str]:
    """The lines of a program without texts that stand by themselves: a sixth less to send over a slow line."""
    lines = text.splitlines()
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) and len(body) > 1 else ():
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                left_out.update(range(each.lineno - 1, each.end_lineno or each.lineno))
    return [line for at, line in enumerate(lines) if at not in left_out]
