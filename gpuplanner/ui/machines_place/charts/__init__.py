"""What was measured beside what should be reached, as charts of the right column."""
