"""The built-in agents, as data. A new agent is an entry here, and is tested by being one."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regret_envs.agents.base import Agent, Bounds
from regret_envs.feedback import Takes
from regret_envs.plugins import plugins


@dataclass(frozen=True)
class AgentEntry:
    """A built-in agent, as data.

    Attributes:
        target: "module:Class"; imported only when the agent is made, or asked for what its class says.
        summary: one line for lists.
        settings: what sets the entry apart from the class's defaults; an agent is given as a spec.
        requires: the extra that it needs, or None.
        checkpoint: the shipped checkpoint that it plays (a folder of `attention/checkpoints`), or None.
        weights: the shipped weights that it plays (a file of `universal/weights`, without suffix), or None.
        version: raised when the agent's play changes; part of the identity of its results, so that it is
            run again. `tests/agents/test_versions.py` says how.
    """

    target: str
    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    requires: str | None = None
    checkpoint: str | None = None
    weights: str | None = None
    version: int = 1

    @property
    def bounds(self) -> Bounds:
        """The regret that its guarantee is about, see `Agent.bounds`."""
        return self._class().bounds

    @property
    def takes(self) -> Takes:
        """What feedback it plays under, see `Agent.takes`."""
        return self._class().takes

    def _class(self) -> type[Agent]:
        """The class; `Agent` itself, with its defaults, for what lists must not import.

        That is what an extra is needed for and what is not ours.
        """
        if self.requires or not self.target.startswith(f"{_HERE}."):
            return Agent
        module, _, name = self.target.partition(":")
        found: type[Agent] = getattr(importlib.import_module(module), name)
        return found


_HERE = "regret_envs.agents"


def _trained(checkpoint: str, summary: str) -> AgentEntry:
    return AgentEntry(
        f"{_HERE}.attention.builtin:TrainedAgent",
        summary,
        {"path": checkpoint},
        requires="torch",
        checkpoint=checkpoint,
    )


def _universal(weights: str, summary: str) -> AgentEntry:
    return AgentEntry(
        f"{_HERE}.universal.agent:Universal", summary, {"weights": weights}, weights=weights, version=2
    )


AGENTS: dict[str, AgentEntry] = {
    "uniform": AgentEntry(f"{_HERE}.external.baselines:Uniform", "Uniform play: what learning has to beat"),
    "ftl": AgentEntry(f"{_HERE}.external.baselines:FollowTheLeader", "Follow the leader (fictitious play)"),
    "hedge": AgentEntry(f"{_HERE}.external.hedge:Hedge", "Hedge (entropy-FTRL), fixed step"),
    "hedge-anytime": AgentEntry(
        f"{_HERE}.external.hedge:Hedge",
        "Hedge (entropy-FTRL), step ∝ 1/√t",
        {"step_size": "anytime"},
    ),
    "adahedge": AgentEntry(f"{_HERE}.external.hedge:AdaHedge", "AdaHedge: Hedge that finds its step"),
    "optimistic-hedge": AgentEntry(
        f"{_HERE}.external.hedge:OptimisticHedge", "Optimistic Hedge: the last losses count twice"
    ),
    "euclidean-ftrl": AgentEntry(
        f"{_HERE}.external.euclidean:EuclideanFTRL", "Euclidean FTRL (lazy projection)"
    ),
    "ogd": AgentEntry(f"{_HERE}.external.euclidean:OnlineGradientDescent", "Online gradient descent"),
    "regret-matching": AgentEntry(f"{_HERE}.external.regret_matching:RegretMatching", "Regret matching"),
    "rm+": AgentEntry(f"{_HERE}.external.regret_matching:RegretMatchingPlus", "Regret matching+"),
    "predictive-rm+": AgentEntry(
        f"{_HERE}.external.regret_matching:PredictiveRegretMatchingPlus",
        "Predictive regret matching+",
    ),
    "blum-mansour": AgentEntry(
        f"{_HERE}.swap.blum_mansour:BlumMansour", "Blum–Mansour over Hedge (entropy-FTRL) copies"
    ),
    "blum-mansour-rm+": AgentEntry(
        f"{_HERE}.swap.blum_mansour:BlumMansour", "Blum–Mansour over RM+ copies", {"copies": "rm+"}
    ),
    "blum-mansour-log-barrier": AgentEntry(
        f"{_HERE}.swap.blum_mansour:BlumMansour",
        "Blum–Mansour over optimistic log-barrier copies",
        {"copies": "oftrl-log-barrier[step_size=4]"},
    ),
    "tree-swap": AgentEntry(f"{_HERE}.swap.tree_swap:TreeSwap", "TreeSwap over Hedge nodes"),
    "stoltz-lugosi": AgentEntry(
        f"{_HERE}.swap.stoltz_lugosi:StoltzLugosi",
        "Stoltz–Lugosi: exponential weights over pairs",
    ),
    "internal-rm": AgentEntry(
        f"{_HERE}.swap.internal_regret_matching:InternalRegretMatching",
        "Hart–Mas-Colell internal regret matching",
    ),
    "oftrl-euclidean": AgentEntry(
        f"{_HERE}.external.optimistic_ftrl:OptimisticFTRL",
        "Optimistic FTRL, Euclidean",
        {"regularizer": "euclidean"},
    ),
    "oftrl-tsallis": AgentEntry(
        f"{_HERE}.external.optimistic_ftrl:OptimisticFTRL",
        "Optimistic FTRL, Tsallis entropy",
        {"regularizer": "tsallis"},
    ),
    "oftrl-log-barrier": AgentEntry(
        f"{_HERE}.external.optimistic_ftrl:OptimisticFTRL",
        "Optimistic FTRL, log barrier",
        {"regularizer": "log_barrier"},
    ),
    "mmd": AgentEntry(f"{_HERE}.external.mirror_descent:MagneticMirrorDescent", "Magnetic mirror descent"),
    "ftpl": AgentEntry(
        f"{_HERE}.external.perturbed_leader:FollowThePerturbedLeader",
        "Follow the perturbed leader",
    ),
    "adanormalhedge": AgentEntry(f"{_HERE}.external.parameter_free:AdaNormalHedge", "AdaNormalHedge"),
    "squint": AgentEntry(f"{_HERE}.external.parameter_free:Squint", "Squint"),
    "fixed-share": AgentEntry(f"{_HERE}.changing.fixed_share:FixedShare", "Fixed-Share, 5 switches"),
    "strongly-adaptive": AgentEntry(
        f"{_HERE}.changing.strongly_adaptive:StronglyAdaptive",
        "Sleeping Hedges, one per interval of rounds",
    ),
    "hedged": AgentEntry(
        f"{_HERE}.external.hedged:Hedged",
        "AdaHedge over agents, by default two",
        {"members": "(predictive-rm+,adahedge)"},
    ),
    "universal": _universal("universal", "Regret-trained, plays everything"),
    "universal-swap": _universal("universal-swap", "Swap-regret-trained, plays everything"),
    "universal-safe": AgentEntry(
        f"{_HERE}.external.hedged:Hedged",
        "Regret-trained, hedged: plays everything, guaranteed",
        {"members": "(universal,predictive-rm+,adahedge,uniform)"},
        version=2,
    ),
    "universal-swap-safe": AgentEntry(
        f"{_HERE}.external.hedged:Hedged",
        "Swap-regret-trained, hedged with swap-regret agents",
        {"members": "(universal-swap,internal-rm,blum-mansour-rm+)"},
        version=2,
    ),
    "exp3": AgentEntry(f"{_HERE}.bandits.adversarial:Exp3", "Exp3: Hedge with a bandit's step"),
    "exp3-ix": AgentEntry(f"{_HERE}.bandits.adversarial:Exp3IX", "Exp3 with implicit exploration"),
    "tsallis-inf": AgentEntry(
        f"{_HERE}.bandits.adversarial:TsallisINF", "Tsallis-INF: stochastic and adversarial"
    ),
    "ucb1": AgentEntry(f"{_HERE}.bandits.stochastic:UCB1", "UCB1, for i.i.d. losses"),
    "thompson": AgentEntry(
        f"{_HERE}.bandits.stochastic:ThompsonSampling",
        "Thompson sampling, for i.i.d. losses",
    ),
    "linear-attention": AgentEntry(
        f"{_HERE}.attention.builtin:LinearAttentionAgent",
        "Linear self-attention at its stationary point k*(d, T)",
        requires="torch",
        checkpoint="linear-attention",
    ),
    "swap-attention": AgentEntry(
        f"{_HERE}.attention.builtin:SwapAttentionAgent",
        "Multi-head swap attention at its stationary point",
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
        f"{_HERE}.stackelberg_leader:StackelbergLeader", "Plays the best plan against a follower it knows"
    ),
}
"""Agents that are only ever opponents, since they must know whom they play."""

NEED_SETTINGS: dict[str, AgentEntry] = {
    "llm": AgentEntry(
        f"{_HERE}.llm.agent:LanguageModel",
        "A language model on a server: llm[model=NAME]",
        requires="llm",
    ),
}
"""Built-in agents that need settings: "all" does not include them."""


def built_in() -> dict[str, AgentEntry]:
    """All built-in agents, those included that "all" leaves out."""
    return {**AGENTS, **NEED_SETTINGS, **OPPONENTS}


def known_agents() -> tuple[dict[str, AgentEntry], list[str]]:
    """The built-in agents, then those of plug-ins; and a line about each plug-in that is left out."""
    found, problems = plugins("agents", built_in())
    offered = {
        name: AgentEntry(plugin.target, f"a plug-in of {plugin.distribution}")
        for name, plugin in found.items()
    }
    return {**AGENTS, **offered}, problems
