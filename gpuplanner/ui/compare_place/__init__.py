"""The Compare place: two to six pinned things side by side, the best and the differences marked."""
