"""Agents with a guarantee on external regret, and the baselines."""
