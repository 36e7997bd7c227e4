"""The earlier states of the open plan: what was changed when, how it was then, and the way back."""
