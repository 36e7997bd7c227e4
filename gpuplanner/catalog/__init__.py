"""What exists: GPUs, links, instances, models, compatibility and rules, read from plain files."""
