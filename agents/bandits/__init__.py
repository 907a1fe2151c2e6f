"""Agents made for bandit feedback: the loss of the drawn action is all that is seen."""
