"""The help page (F1): notices, shortcuts, marks, and the words of the field."""
