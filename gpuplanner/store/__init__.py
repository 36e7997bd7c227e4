"""What is kept: one SQLite file of plans, and its migrations."""
