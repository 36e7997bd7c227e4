"""How two plans differ: in what they ask, and in what they come to."""
