"""Answers to the questions that people ask beside a plan: `answering.answered` is the way in. No I/O, no Qt."""
