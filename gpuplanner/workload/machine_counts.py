"""How many machines and GPUs a plan can name. Imports nothing: the command line reads it before it does anything."""

MOST_NODES, MOST_GPUS, MOST_PER_NODE = 1_000_000, 1_000_000, 128
"""Of one machine: several times the largest clusters that were built."""
