"""Why the machine is slow or ill, as the page shows it."""
