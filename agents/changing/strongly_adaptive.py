"""A strongly adaptive agent: low regret on all intervals of rounds at once."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from regret_envs.agents.base import Agent, Reduction
from regret_envs.agents.external.hedge import Hedge
from regret_envs.agents.external.parameter_free import adanormalhedge_logits, normalized
from regret_envs.arrays import FloatArray
from regret_envs.validation import positive


@dataclass(eq=False)
class StronglyAdaptive(Reduction):
    """A meta-agent over sleeping experts, one agent per dyadic interval of rounds.

    Level k has the intervals of rounds [i 2^k, (i + 1) 2^k), counted from 0. There are as many levels as fit
    in the horizon, or in the rounds so far if it is unknown. On each level one agent is awake, started at
    the beginning of its interval. AdaNormalHedge for sleeping experts weighs them by R and C, the sums over
    their own interval of how much less than the mixture they lost, and of its absolute value, over ρ.

    Args:
        copies: the agent that is copied; its horizon is the length of its interval.
        loss_range: ρ, an upper bound on max_a ℓ_t(a) − min_a ℓ_t(a); 2 for losses in [−1, 1].

    Raises:
        TypeError: if `copies` is not an agent.
        ValueError: if `loss_range` is not positive and finite.

    Guarantee: on a dyadic interval of length n the regret is at most the copy's plus
    ρ sqrt(3 n (ln N + ln B + ln(1 + ln N))), N being the number of intervals and
    B ≤ 5/2 + 3/2 ln(1 + T), and any interval is cut into dyadic ones, at most two of a length:
    O(ρ sqrt(n (ln d + ln T))) on every interval of length n (Daniely, Gonen and Shalev-Shwartz,
    "Strongly Adaptive Online Learning", ICML 2015, for the intervals; Luo and Schapire, "Achieving All
    with No Parameters: AdaNormalHedge", COLT 2015, for the weights).
    """

    copies: Agent = field(default_factory=Hedge)
    _: KW_ONLY
    loss_range: float = 2.0

    reference = "Daniely, Gonen and Shalev-Shwartz 2015; Luo and Schapire 2015"
    guarantee = "regret on every interval of length n: O(ρ sqrt(n (ln d + ln T)))"
    bounds = "adaptive"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.assumed_losses == "any":
            self.assumed_losses = "range"
        positive("loss_range", self.loss_range)

    def _live_copies(self) -> Agent:
        return self._experts[0].agent

    def copy_horizons(self, num_actions: int, horizon: int | None) -> Iterable[int | None]:
        """The length of any interval."""
        return (2**k for k in range((horizon or 1).bit_length()))

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float | None:
        """The sum over two dyadic intervals of every length up to the horizon, for any interval."""
        if self.copies.bounds != "external" or num_actions == 1:
            return None if num_actions > 1 else 0.0
        if loss_range > self.loss_range:
            return math.inf
        num_levels = horizon.bit_length()
        log_n = math.log(sum(-(-horizon // 2**k) for k in range(num_levels)))
        log_b = math.log(2.5 + 1.5 * math.log(1 + horizon))
        total = 0.0
        for k in range(num_levels):
            copy_bound = self.copies.regret_bound(num_actions, 2**k, loss_range)
            if copy_bound is None:
                return None
            weighing = math.sqrt(3 * 2**k * (log_n + log_b + math.log(1 + log_n)))
            total += 2 * (copy_bound + self.loss_range * weighing)
        return total

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start one agent per level."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self._rng = rng
        self._shape = (num_actions, num_runs)
        self._num_levels = horizon.bit_length() if horizon else None
        self._t = 0
        self._experts: list[_Expert] = []
        self._wake()

    def _wake(self) -> None:
        """Start a new agent on every level whose interval begins in round t, counted from 0."""
        num_actions, num_runs = self._shape
        for level in range(self._num_levels or max(self._t.bit_length(), 1)):
            if self._t % (1 << level):
                break
            agent = copy.deepcopy(self.copies)
            agent.reset(num_actions, horizon=1 << level, num_runs=num_runs, rng=self._rng)
            self._experts[level : level + 1] = [_Expert(agent, num_runs)]

    def act(self) -> FloatArray:
        """The weighted mean of the experts' policies."""
        proposals = [np.asarray(expert.agent.act()).T for expert in self._experts]
        regrets = np.stack([expert.regrets for expert in self._experts])
        weights = normalized(adanormalhedge_logits(regrets, np.stack([e.scales for e in self._experts])))
        policies = np.zeros(self._shape)
        for weight, proposal in zip(weights, proposals, strict=True):
            policies += weight * proposal
        self.remember((list(self._experts), proposals, policies))
        return policies.T

    def observe(self, losses: FloatArray) -> None:
        """Show the experts the losses and update their weights."""
        experts, proposals, policies = self.recall()
        scaled = np.asarray(losses, dtype=np.float64).T / self.loss_range
        for expert, proposal in zip(experts, proposals, strict=True):
            gains = np.einsum("ar,ar->r", policies - proposal, scaled)
            expert.regrets += gains
            expert.scales += np.abs(gains)
            expert.agent.observe(losses)
        self._t += 1
        self._wake()


class _Expert:
    """The agent of an interval, and in every run the mixture's regret against it, with its scale."""

    def __init__(self, agent: Agent, num_runs: int) -> None:
        self.agent = agent
        self.regrets = np.zeros(num_runs)
        self.scales = np.zeros(num_runs)
