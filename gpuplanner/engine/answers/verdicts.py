"""The verdict of an estimate as a cell of an answer's table: whether it runs, and whether it keeps its goals."""

from gpuplanner.engine.estimate import Estimate, Outcome, Runs
from gpuplanner.messages import Message, msg


def verdict_cell(made: Estimate) -> Message:
    """The verdict; of what runs also that it misses a goal, or that nobody knows whether it runs."""
    memory = msg(f"fit.{made.fit.name.lower()}")
    if made.runs is Runs.UNKNOWN:
        return msg("answers.split.unsure", fit=memory)
    if made.missed and made.outcome is not Outcome.DOES_NOT_RUN:
        return msg("answers.split.misses", fit=memory)
    return msg(made.verdict)
