"""Environments, agents and exact equilibrium gaps for online learning in games."""

from importlib.metadata import version as _version

from regret_envs import feedback, games, metrics, streams
from regret_envs.envs import register as _register
from regret_envs.play import Play, PolicyError, Simulation, simulate

__all__ = ["Play", "PolicyError", "Simulation", "feedback", "games", "metrics", "simulate", "streams"]

__version__ = _version("regret-envs")

_register()
