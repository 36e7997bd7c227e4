"""The other face of gpuplanner: the window, and the only place that imports Qt."""
