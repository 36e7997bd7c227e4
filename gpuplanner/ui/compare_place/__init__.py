"""The Compare place: two to six pinned things side by side, and the pins that every place shares."""
