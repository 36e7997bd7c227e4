"""The settings page: every setting searchable, with its default and a way back to it."""
