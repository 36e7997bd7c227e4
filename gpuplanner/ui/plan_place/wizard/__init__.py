"""The left column: the fields of a plan, drawn from the types of the workloads and of the limits."""
