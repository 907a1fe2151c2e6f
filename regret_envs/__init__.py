"""Environments, agents and exact equilibrium gaps for online learning in games."""

from regret_envs import games, metrics, streams
from regret_envs.engine import Play, simulate

__all__ = ["Play", "games", "metrics", "simulate", "streams"]
