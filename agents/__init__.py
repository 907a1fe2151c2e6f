"""Agents: the classical no-regret algorithms, and attention trained with regret loss."""

if __name__ != "regret_envs.agents":
    raise ImportError(
        "this folder is the package regret_envs.agents: install the project (pip install -e .) and "
        "import it by that name"
    )

from regret_envs.agents.base import Agent, SingleRunAgent
from regret_envs.agents.baselines import FixedPolicy, FollowTheLeader, Uniform
from regret_envs.agents.blum_mansour import BlumMansour
from regret_envs.agents.euclidean import EuclideanFTRL, OnlineGradientDescent
from regret_envs.agents.from_policy import PolicyAgent, from_pettingzoo, from_policy, from_sb3
from regret_envs.agents.hedge import AdaHedge, Hedge, OptimisticHedge
from regret_envs.agents.registry import AGENTS, make
from regret_envs.agents.regret_matching import (
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)
from regret_envs.agents.stoltz_lugosi import StoltzLugosi

__all__ = [
    "AGENTS",
    "AdaHedge",
    "Agent",
    "BlumMansour",
    "EuclideanFTRL",
    "FixedPolicy",
    "FollowTheLeader",
    "Hedge",
    "OnlineGradientDescent",
    "OptimisticHedge",
    "PolicyAgent",
    "PredictiveRegretMatchingPlus",
    "RegretMatching",
    "RegretMatchingPlus",
    "SingleRunAgent",
    "StoltzLugosi",
    "Uniform",
    "from_pettingzoo",
    "from_policy",
    "from_sb3",
    "make",
]
