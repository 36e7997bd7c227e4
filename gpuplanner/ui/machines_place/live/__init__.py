"""What a machine does now, and what it did: live curves, why GPUs wait, who computes on them."""
