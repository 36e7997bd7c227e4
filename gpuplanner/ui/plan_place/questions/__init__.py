"""The questions that can be asked of the open plan, and the card that shows their answers."""
