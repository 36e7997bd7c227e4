"""Is it what was promised: checks over the evidence of a machine, each a verdict with its reason. Pure."""
