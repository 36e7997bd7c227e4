"""What a workload needs: memory, time, limits, power and cost, each with its derivation."""
