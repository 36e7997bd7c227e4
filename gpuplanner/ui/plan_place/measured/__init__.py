"""What a person measured and dropped: `asking` understands it and keeps it when wanted, `card` shows it and asks."""
