"""What is kept of machines, in the window: runs, live sessions, hosts, and what differs between two runs."""
