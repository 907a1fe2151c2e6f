"""Stoltz–Lugosi: no internal regret from exponential weights over pairs of actions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from regret_envs.agents.external.steps import SteppedAgent
from regret_envs.agents.swap.stationary import stationary_distribution
from regret_envs.arrays import FloatArray
from regret_envs.simplex import softmax


@dataclass(eq=False)
class StoltzLugosi(SteppedAgent):
    """Stoltz and Lugosi's reduction with exponential weights.

    A pair (i, j), i ≠ j, stands for playing j in place of i. Its weight is
    w(i, j) ∝ exp(−η Σ_s π_s(i) (ℓ_s(j) − ℓ_s(i))), and the policy is the fixed point of the mixture of
    all pairs, π(i) Σ_j w(i, j) = Σ_k π(k) w(k, i).

    Args:
        step_size: η. None: sqrt(2 ln(d(d − 1)) / T), or with t for T where the horizon is unknown;
            "anytime": the latter in any case. Right for losses of range 2, as in [−1, 1].

    Guarantee: the internal regret is at most ln(d(d − 1)) / η + η ρ² T / 8 for losses of range ρ, since
    the pairs' losses of a round lie within ρ of each other (Stoltz and Lugosi, "Internal Regret in
    On-Line Portfolio Selection", Machine Learning 2005, section 3).
    """

    reference = "Stoltz and Lugosi 2005"
    guarantee = "internal regret ≤ ln(d(d − 1)) / η + η ρ² T / 8"
    bounds = "internal"

    def _bound_terms(self, num_actions: int, loss_range: float, shrinks: bool) -> tuple[float, float]:
        return math.log(max(num_actions * (num_actions - 1), 1)), loss_range**2 / 8

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from equal weights, so from the uniform policy."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self._begin(num_actions, horizon)
        # Entry [j, i]: what moving i to j would have added to the loss. The diagonal is not a pair.
        self._cumulative = np.zeros((num_actions, num_actions, num_runs))
        self._cumulative[np.arange(num_actions), np.arange(num_actions)] = _NEVER

    def act(self) -> FloatArray:
        """The fixed point of the weighted pairs."""
        pairs = self._cumulative * -self._step()
        softmax(pairs.reshape(-1, pairs.shape[-1]))
        policies = stationary_distribution(pairs)
        self.remember(policies)
        return policies.T

    def observe(self, losses: FloatArray) -> None:
        """Add up the pairs' losses."""
        self._t += 1
        losses = np.asarray(losses, dtype=np.float64).T
        self._cumulative += self.recall() * (losses[:, None] - losses)


_NEVER = 1e300
