"""Agents: the classical no-regret algorithms, and attention trained with regret loss."""

if __name__ != "regret_envs.agents":
    raise ImportError(
        "this folder is the package regret_envs.agents: install the project (pip install -e .) and "
        "import it by that name"
    )

from regret_envs.agents.bandits import UCB1, Exp3, Exp3IX, ThompsonSampling, TsallisINF
from regret_envs.agents.base import Agent, SingleRunAgent
from regret_envs.agents.baselines import FixedPolicy, FollowTheLeader, Uniform
from regret_envs.agents.blum_mansour import BlumMansour
from regret_envs.agents.euclidean import EuclideanFTRL, OnlineGradientDescent
from regret_envs.agents.fixed_share import FixedShare
from regret_envs.agents.from_policy import PolicyAgent, from_pettingzoo, from_policy, from_sb3
from regret_envs.agents.hedge import AdaHedge, Hedge, OptimisticHedge
from regret_envs.agents.mirror_descent import MagneticMirrorDescent
from regret_envs.agents.optimiser import Optimiser
from regret_envs.agents.optimistic_ftrl import OptimisticFTRL
from regret_envs.agents.parameter_free import AdaNormalHedge, Squint
from regret_envs.agents.perturbed_leader import FollowThePerturbedLeader
from regret_envs.agents.registry import AGENTS, make
from regret_envs.agents.regret_matching import (
    InternalRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)
from regret_envs.agents.stoltz_lugosi import StoltzLugosi
from regret_envs.agents.strongly_adaptive import StronglyAdaptive
from regret_envs.agents.tree_swap import TreeSwap

__all__ = [
    "AGENTS",
    "UCB1",
    "AdaHedge",
    "AdaNormalHedge",
    "Agent",
    "BlumMansour",
    "EuclideanFTRL",
    "Exp3",
    "Exp3IX",
    "FixedPolicy",
    "FixedShare",
    "FollowTheLeader",
    "FollowThePerturbedLeader",
    "Hedge",
    "InternalRegretMatching",
    "MagneticMirrorDescent",
    "OnlineGradientDescent",
    "Optimiser",
    "OptimisticFTRL",
    "OptimisticHedge",
    "PolicyAgent",
    "PredictiveRegretMatchingPlus",
    "RegretMatching",
    "RegretMatchingPlus",
    "SingleRunAgent",
    "Squint",
    "StoltzLugosi",
    "StronglyAdaptive",
    "ThompsonSampling",
    "TreeSwap",
    "TsallisINF",
    "Uniform",
    "from_pettingzoo",
    "from_policy",
    "from_sb3",
    "make",
]
