"""What a person made, kept in one SQLite file: plans with their history, settings. And `.gpuplan` files."""
