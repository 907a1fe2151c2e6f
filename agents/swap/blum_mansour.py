"""Blum–Mansour: from no external regret to no swap regret."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from regret_envs.agents.base import Agent, Reduction
from regret_envs.agents.external.hedge import Hedge
from regret_envs.agents.swap.stationary import stationary_distribution
from regret_envs.arrays import FloatArray


@dataclass(eq=False)
class BlumMansour(Reduction):
    """Blum and Mansour's reduction over any agent.

    d copies of an external-regret agent: copy i proposes p_i, the policy is the stationary
    distribution π = Pπ of P = (p_1 | … | p_d), and copy i is shown π_t(i) ℓ_t. Swap regret is the
    sum of the copies' external regrets on what they were shown.

    Args:
        copies: the agent that is copied, `Hedge()` by default. Its default step size is multiplied
            by d, since the copies share the losses; an explicit step is used unchanged.

    Raises:
        TypeError: if `copies` is not an agent.

    Guarantee with Hedge copies: SR_T ≤ d ln d / η + (η ρ² / 8) Σ_t Σ_i π_t(i)² for losses of range ρ
    (Blum and Mansour, "From External to Internal Regret", JMLR 2007, Theorem 5, with the sharper
    second-order term), at the default step and ρ = 2 at most (d + 1) sqrt(T ln d / 2).
    """

    copies: Agent = field(default_factory=Hedge)

    reference = "Blum and Mansour 2007"
    guarantee = "swap regret ≤ Σ_i external regret of copy i"
    bounds = "swap"

    def _live_copies(self) -> Agent:
        return self._copies

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float | None:
        """The sum of the copies' bounds, or None where they have none.

        Copy i sees losses of range π_t(i) ρ, whose squares add up to at most ρ² over the copies. A
        bound that is concave in the squared ranges is then at most what d copies of range ρ / √d have.
        """
        if self.copies.bounds not in ("external", "swap"):
            return None
        share = loss_range / math.sqrt(num_actions) if self.copies.shares_bound else loss_range
        bound = self.copies.as_copy(num_actions).regret_bound(num_actions, horizon, share)
        return None if bound is None else num_actions * bound

    def as_copy(self, num_copies: int) -> Self:
        """The reduction over copies that are themselves copies among `num_copies`."""
        return replace(self, copies=self.copies.as_copy(num_copies))

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Reset all copies; copy i of run r is row i · num_runs + r of one batch."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self._copies = self.copies.as_copy(num_actions)
        self._copies.reset(num_actions, horizon=horizon, num_runs=num_actions * num_runs, rng=rng)
        # Allocating large arrays costs more than the arithmetic: the system maps them page by page.
        self._work = np.empty((num_actions, num_actions, num_runs))
        self._last: FloatArray | None = None

    def act(self) -> FloatArray:
        """The stationary distribution of what the copies propose."""
        proposals = self._copies.act().T.reshape(self._work.shape)
        policies = stationary_distribution(proposals, work=self._work, guess=self._last)
        self._last = policies
        self.remember(policies)
        return policies.T

    def observe(self, losses: FloatArray) -> None:
        """Show copy i its share π_t(i) ℓ_t."""
        shares = np.multiply(losses.T[:, None], self.recall(), out=self._work)
        self._copies.observe(shares.reshape(len(shares), -1).T)
