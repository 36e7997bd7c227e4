"""One face of gpuplanner: the command line."""
