"""Agents with a guarantee on swap or internal regret, and the stationary distribution that they need."""
