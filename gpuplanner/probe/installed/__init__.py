"""Measuring with what is installed on a machine: which tools there are, how they are called, and what came of them."""
