"""Agents: the classical no-regret algorithms, and attention trained with regret loss."""

if __name__ != "regret_envs.agents":
    raise ImportError(
        "this folder is the package regret_envs.agents: install the project (pip install -e .) and "
        "import it by that name"
    )

from regret_envs.agents.base import Agent, SingleRunAgent
from regret_envs.agents.baselines import FixedPolicy, FollowTheLeader, Uniform
from regret_envs.agents.blum_mansour import BlumMansour
from regret_envs.agents.hedge import Hedge

__all__ = [
    "Agent",
    "BlumMansour",
    "FixedPolicy",
    "FollowTheLeader",
    "Hedge",
    "SingleRunAgent",
    "Uniform",
]
