"""Why a machine is slow or ill: causes with the lines that show them. Pure but for reading its rules; runs nothing."""

from gpuplanner.acceptance.diagnosis.finding import Certainty, Finding

__all__ = ["Certainty", "Finding"]
