"""The command palette: everything that can be done or found, in both languages, by keyboard."""
