"""The built-in agents, as data. A new agent is an entry here, and is tested by being one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regret_envs.agents.base import Bounds
from regret_envs.feedback import Takes


@dataclass(frozen=True)
class AgentEntry:
    """A built-in agent, as data.

    Attributes:
        target: "module:Class"; imported only when the agent is made.
        summary: one line for lists.
        bounds: the regret that its guarantee is about.
        settings: what sets the entry apart from the class's defaults; an agent is given as a spec.
        requires: the extra that it needs, or None.
        takes: what feedback it plays under, see `Agent.takes`.
        checkpoint: the shipped checkpoint that it plays (a folder of `attention/checkpoints`), or None.
    """

    target: str
    summary: str
    bounds: Bounds
    settings: Mapping[str, Any] = field(default_factory=dict)
    requires: str | None = None
    takes: Takes = "any"
    checkpoint: str | None = None


_HERE = "regret_envs.agents"


def _trained(checkpoint: str, summary: str) -> AgentEntry:
    return AgentEntry(
        f"{_HERE}.attention.builtin:TrainedAgent",
        summary,
        "",
        {"path": checkpoint},
        requires="torch",
        checkpoint=checkpoint,
    )


AGENTS: dict[str, AgentEntry] = {
    "uniform": AgentEntry(
        f"{_HERE}.external.baselines:Uniform", "Uniform play: what learning has to beat", ""
    ),
    "ftl": AgentEntry(
        f"{_HERE}.external.baselines:FollowTheLeader", "Follow the leader (fictitious play)", ""
    ),
    "hedge": AgentEntry(f"{_HERE}.external.hedge:Hedge", "Hedge (entropy-FTRL), fixed step", "external"),
    "hedge-anytime": AgentEntry(
        f"{_HERE}.external.hedge:Hedge",
        "Hedge (entropy-FTRL), step ∝ 1/√t",
        "external",
        {"step_size": "anytime"},
    ),
    "adahedge": AgentEntry(
        f"{_HERE}.external.hedge:AdaHedge", "AdaHedge: Hedge that finds its step", "external"
    ),
    "optimistic-hedge": AgentEntry(
        f"{_HERE}.external.hedge:OptimisticHedge", "Optimistic Hedge: the last losses count twice", "external"
    ),
    "euclidean-ftrl": AgentEntry(
        f"{_HERE}.external.euclidean:EuclideanFTRL", "Euclidean FTRL (lazy projection)", "external"
    ),
    "ogd": AgentEntry(
        f"{_HERE}.external.euclidean:OnlineGradientDescent", "Online gradient descent", "external"
    ),
    "regret-matching": AgentEntry(
        f"{_HERE}.external.regret_matching:RegretMatching", "Regret matching", "external"
    ),
    "rm+": AgentEntry(f"{_HERE}.external.regret_matching:RegretMatchingPlus", "Regret matching+", "external"),
    "predictive-rm+": AgentEntry(
        f"{_HERE}.external.regret_matching:PredictiveRegretMatchingPlus",
        "Predictive regret matching+",
        "external",
    ),
    "blum-mansour": AgentEntry(
        f"{_HERE}.swap.blum_mansour:BlumMansour", "Blum–Mansour over Hedge (entropy-FTRL) copies", "swap"
    ),
    "blum-mansour-rm+": AgentEntry(
        f"{_HERE}.swap.blum_mansour:BlumMansour", "Blum–Mansour over RM+ copies", "swap", {"copies": "rm+"}
    ),
    "blum-mansour-log-barrier": AgentEntry(
        f"{_HERE}.swap.blum_mansour:BlumMansour",
        "Blum–Mansour over optimistic log-barrier copies",
        "swap",
        {"copies": "oftrl-log-barrier[step_size=4]"},
    ),
    "tree-swap": AgentEntry(f"{_HERE}.swap.tree_swap:TreeSwap", "TreeSwap over Hedge nodes", "swap"),
    "stoltz-lugosi": AgentEntry(
        f"{_HERE}.swap.stoltz_lugosi:StoltzLugosi",
        "Stoltz–Lugosi: exponential weights over pairs",
        "internal",
    ),
    "internal-rm": AgentEntry(
        f"{_HERE}.swap.internal_regret_matching:InternalRegretMatching",
        "Hart–Mas-Colell internal regret matching",
        "internal",
    ),
    "oftrl-euclidean": AgentEntry(
        f"{_HERE}.external.optimistic_ftrl:OptimisticFTRL",
        "Optimistic FTRL, Euclidean",
        "external",
        {"regularizer": "euclidean"},
    ),
    "oftrl-tsallis": AgentEntry(
        f"{_HERE}.external.optimistic_ftrl:OptimisticFTRL",
        "Optimistic FTRL, Tsallis entropy",
        "external",
        {"regularizer": "tsallis"},
    ),
    "oftrl-log-barrier": AgentEntry(
        f"{_HERE}.external.optimistic_ftrl:OptimisticFTRL",
        "Optimistic FTRL, log barrier",
        "external",
        {"regularizer": "log_barrier"},
    ),
    "mmd": AgentEntry(
        f"{_HERE}.external.mirror_descent:MagneticMirrorDescent", "Magnetic mirror descent", "external"
    ),
    "ftpl": AgentEntry(
        f"{_HERE}.external.perturbed_leader:FollowThePerturbedLeader",
        "Follow the perturbed leader",
        "external",
    ),
    "adanormalhedge": AgentEntry(
        f"{_HERE}.external.parameter_free:AdaNormalHedge", "AdaNormalHedge", "external"
    ),
    "squint": AgentEntry(f"{_HERE}.external.parameter_free:Squint", "Squint", "external"),
    "fixed-share": AgentEntry(
        f"{_HERE}.changing.fixed_share:FixedShare", "Fixed-Share, 5 switches", "tracking"
    ),
    "strongly-adaptive": AgentEntry(
        f"{_HERE}.changing.strongly_adaptive:StronglyAdaptive",
        "Sleeping Hedges, one an interval of rounds",
        "adaptive",
    ),
    "exp3": AgentEntry(
        f"{_HERE}.bandits:Exp3", "Exp3: Hedge with a bandit's step", "external", takes="bandit"
    ),
    "exp3-ix": AgentEntry(
        f"{_HERE}.bandits:Exp3IX", "Exp3 with implicit exploration", "external", takes="bandit"
    ),
    "tsallis-inf": AgentEntry(
        f"{_HERE}.bandits:TsallisINF", "Tsallis-INF: stochastic and adversarial", "external", takes="bandit"
    ),
    "ucb1": AgentEntry(f"{_HERE}.bandits:UCB1", "UCB1, for i.i.d. losses", "external", takes="bandit"),
    "thompson": AgentEntry(
        f"{_HERE}.bandits:ThompsonSampling",
        "Thompson sampling, for i.i.d. losses",
        "external",
        takes="bandit",
    ),
    "linear-attention": AgentEntry(
        f"{_HERE}.attention.builtin:LinearAttentionAgent",
        "Linear self-attention at its stationary point k*(d, T)",
        "",
        requires="torch",
        checkpoint="linear-attention",
    ),
    "swap-attention": AgentEntry(
        f"{_HERE}.attention.builtin:SwapAttentionAgent",
        "Multi-head swap attention at its stationary point",
        "",
        requires="torch",
        checkpoint="swap-attention",
    ),
    "linear-attention-trained": _trained("linear-attention", "Linear self-attention, regret-trained"),
    "swap-attention-trained": _trained("swap-attention", "Swap attention, trained on swap-regret loss"),
    "transformer-2": _trained("transformer-2", "2-layer softmax Transformer, regret-trained"),
    "transformer-4": _trained("transformer-4", "4-layer softmax Transformer, regret-trained"),
}


OPPONENTS: dict[str, AgentEntry] = {
    "stackelberg-leader": AgentEntry(
        f"{_HERE}.stackelberg_leader:StackelbergLeader", "Plays the best plan against a follower it knows", ""
    ),
}
"""Agents that are only ever opponents, since they must know whom they play."""
NEED_SETTINGS: dict[str, AgentEntry] = {
    "llm": AgentEntry(
        f"{_HERE}.llm.agent:LanguageModel",
        "A language model on a server: llm[model=NAME]",
        "",
        requires="llm",
    ),
}
"""Built-in agents that are nothing without settings: "all" does not stand for them."""
