"""Environments, agents and exact equilibrium gaps for online learning in games."""

from regret_envs import feedback, games, metrics, streams
from regret_envs.envs import register as _register
from regret_envs.play import Play, simulate

__all__ = ["Play", "feedback", "games", "metrics", "simulate", "streams"]

_register()
