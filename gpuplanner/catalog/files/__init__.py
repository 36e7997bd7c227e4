"""Files of facts as records: YAML and CSV with the line of every field. Knows nothing of GPUs, instances or prices."""
