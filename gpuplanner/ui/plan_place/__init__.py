"""The Plan place: what to run on the left, what it needs in the middle, which machines carry it on the right."""
