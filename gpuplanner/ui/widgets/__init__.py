"""Widgets that every place uses. Each takes the Appearance first, follows it, and can be reached by keyboard."""
