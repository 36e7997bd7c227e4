"""gpuplanner: choose, buy and accept GPU machines, with every number explained."""

__version__ = "0.1.0"
