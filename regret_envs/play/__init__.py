"""Play: seats, rounds of many runs at once, and their results."""

from regret_envs.play.hooks import AgentLike
from regret_envs.play.result import Play
from regret_envs.play.round import LossRangeError, PolicyError
from regret_envs.play.simulation import Simulation, simulate

__all__ = ["AgentLike", "LossRangeError", "Play", "PolicyError", "Simulation", "simulate"]
