"""What the two faces share about a machine: its evidence, what was promised of it, its live values. No Qt."""
