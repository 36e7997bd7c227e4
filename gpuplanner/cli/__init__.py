"""The command line: one face of gpuplanner. No Qt; each command is a module that is imported when it is called."""
