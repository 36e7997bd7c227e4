"""Where a person's own files over the catalog are kept."""

OVERLAYS = "overlays"
"""The folder in that of the person's plans and settings."""
