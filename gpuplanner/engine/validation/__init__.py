"""Public measurements against what the engine says for the same run: outcomes by row, summaries, baselines. No I/O."""

from gpuplanner.engine.validation.families import validate_rows
from gpuplanner.engine.validation.summary import summarise

__all__ = ["summarise", "validate_rows"]
