"""The middle column: what the plan comes to, a card for each question, every number explained."""
