"""Public measurements against what the engine says for the same run: outcomes by row, summaries, baselines. No I/O."""
