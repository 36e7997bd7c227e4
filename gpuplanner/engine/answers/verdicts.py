"""The verdict of an estimate as a cell of an answer's table: whether it runs, and whether it keeps its goals."""

from gpuplanner.engine.estimate import Estimate, Runs
from gpuplanner.messages import Message, msg


def verdict_cell(made: Estimate) -> Message:
    """The verdict; of what runs also that it misses a goal, or that nobody knows whether it runs."""
    verdict = msg(made.verdict)
    if made.runs is Runs.UNKNOWN:
        return msg("answers.split.unsure", fit=verdict)
    if made.unmet and made.runs is Runs.YES:
        return msg("answers.split.misses", fit=verdict)
    return verdict
