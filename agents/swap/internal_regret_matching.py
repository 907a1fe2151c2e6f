"""Regret matching on internal regret."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regret_envs.agents.external.regret_matching import RegretMatching
from regret_envs.agents.swap.stationary import stationary_distribution
from regret_envs.arrays import FloatArray


@dataclass(eq=False)
class InternalRegretMatching(RegretMatching):
    """Hart and Mas-Colell's internal regret matching.

    π is stationary under rates max(D(i, j), 0) from i to j, where D(i, j) = Σ_s π_s(i) (ℓ_s(i) −
    ℓ_s(j)) is the regret for having played i and not j. Uniform where no regret is positive. Self-play
    approaches the correlated equilibria.

    Guarantee: for losses of range ρ the internal regret is at most
    sqrt(Σ_t Σ_{i,j} π_t(i)² (ℓ_t(i) − ℓ_t(j))²) ≤ ρ sqrt((d − 1) T), by Blackwell's condition, which the
    stationary policy meets with equality (Hart and Mas-Colell, "A Simple Adaptive Procedure Leading to
    Correlated Equilibrium", Econometrica 2000, the variant with a stationary vector; Foster and Vohra
    1999). Their other variant moves from the action drawn last, with inertia.
    """

    guarantee = "internal regret ≤ ρ sqrt((d − 1) T)"
    bounds = "internal"

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        # Entry [j, i]: D(i, j).
        self._regrets = np.zeros((num_actions, num_actions, num_runs))

    def act(self) -> FloatArray:
        """The stationary distribution of the positive regrets."""
        rates = np.maximum(self._regrets, 0.0)
        # Only ratios matter, and the elimination is made for rates of the order of probabilities.
        rates /= np.maximum(rates.max(axis=(0, 1)), np.finfo(np.float64).tiny)
        policies = stationary_distribution(rates)
        self.remember(policies)
        return policies.T

    def _round_regrets(self, losses: FloatArray) -> FloatArray:
        losses = np.asarray(losses, dtype=np.float64).T
        return self.recall() * (losses - losses[:, None])
