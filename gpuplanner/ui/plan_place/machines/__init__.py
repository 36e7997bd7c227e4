"""The right column: the machines that carry the plan, and why the others do not."""
