"""What a person types to call this program, so that the commands that it names can be copied. Runs nothing."""

import os
import re
import shutil
import sys
from pathlib import Path

from gpuplanner.messages import Language, Message, MessageValue, Translator

NAME = "gpuplanner"
COMMAND_WORDS = (
    *("catalog", "presets", "estimate", "recommend", "explain", "calibrate", "ask", "validate", "schema"),
    *("inspect", "probe", "watch", "check", "diagnose", "rates", "runs"),
)
_CALL = re.compile(rf"(?<!-m )(?<![/\\\w]){NAME} (?=(?:{'|'.join(COMMAND_WORDS)})\b)")
"""The program with a command behind it, as messages write it."""


def called(argument: str, executable: str, folder: str) -> str:
    """How the program was started: its name where a shell finds it, else the path or the module as it was given.

    `argument`: the first of `sys.argv`; `executable`: the Python; `folder`: where the person is.
    """
    path = Path(argument)
    if path.name == "__main__.py" and path.parent.name == NAME:
        return f"{_near(executable, folder)} -m {NAME}"
    if path.stem != NAME or shutil.which(NAME):
        return NAME
    return _near(argument, folder)


def _near(path: str, folder: str) -> str:
    """The path from the folder that a person is in, where that is shorter."""
    whole = Path(os.path.normpath(Path(folder) / path))
    return str(whole.relative_to(folder)) if whole.is_relative_to(folder) else path


class CommandTranslator(Translator):
    """Renders messages with the program named as it was started."""

    def __init__(self, language: Language, program: str | None = None) -> None:
        super().__init__(language)
        self.program = program or called(sys.argv[0] if sys.argv else "", sys.executable, str(Path.cwd()))

    def text(self, message: Message | str, **values: MessageValue) -> str:
        """The text of a message, its commands as they can be typed here."""
        rendered = super().text(message, **values)
        return rendered if self.program == NAME else _CALL.sub(lambda _: f"{self.program} ", rendered)
