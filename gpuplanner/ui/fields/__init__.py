"""Form controls: a label, an input, and below it a word when the input cannot be used. Never a modal."""
