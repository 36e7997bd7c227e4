"""What to run: one frozen type for each kind of workload, and the readers of model files."""
