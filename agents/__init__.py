"""Agents: the classical no-regret algorithms, and attention trained with regret loss."""

if __name__ != "regret_envs.agents":
    raise ImportError(
        "this folder is the package regret_envs.agents: install the project (pip install -e .) and "
        "import it by that name"
    )

from regret_envs.agents.bandits.adversarial import Exp3, Exp3IX, TsallisINF
from regret_envs.agents.bandits.stochastic import UCB1, ThompsonSampling
from regret_envs.agents.base import Agent, SingleRunAgent
from regret_envs.agents.catalogue import AGENTS
from regret_envs.agents.changing.fixed_share import FixedShare
from regret_envs.agents.changing.strongly_adaptive import StronglyAdaptive
from regret_envs.agents.external.baselines import FixedPolicy, FollowTheLeader, Uniform
from regret_envs.agents.external.euclidean import EuclideanFTRL, OnlineGradientDescent
from regret_envs.agents.external.hedge import AdaHedge, Hedge, OptimisticHedge
from regret_envs.agents.external.mirror_descent import MagneticMirrorDescent
from regret_envs.agents.external.optimistic_ftrl import OptimisticFTRL
from regret_envs.agents.external.parameter_free import AdaNormalHedge, Squint
from regret_envs.agents.external.perturbed_leader import FollowThePerturbedLeader
from regret_envs.agents.external.regret_matching import (
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)
from regret_envs.agents.from_policy import PolicyAgent, from_pettingzoo, from_policy
from regret_envs.agents.from_sb3 import from_sb3
from regret_envs.agents.registry import make
from regret_envs.agents.stackelberg_leader import StackelbergLeader
from regret_envs.agents.swap.blum_mansour import BlumMansour
from regret_envs.agents.swap.internal_regret_matching import InternalRegretMatching
from regret_envs.agents.swap.stoltz_lugosi import StoltzLugosi
from regret_envs.agents.swap.tree_swap import TreeSwap

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
    "OptimisticFTRL",
    "OptimisticHedge",
    "PolicyAgent",
    "PredictiveRegretMatchingPlus",
    "RegretMatching",
    "RegretMatchingPlus",
    "SingleRunAgent",
    "Squint",
    "StackelbergLeader",
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
