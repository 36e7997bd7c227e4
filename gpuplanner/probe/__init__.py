"""What the machine says: commands that only read, the ways to run them, and pure parsers of what they print."""
