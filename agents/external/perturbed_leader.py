"""Follow the perturbed leader, with policies computed exactly instead of sampled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from regret_envs.agents.external.steps import SteppedAgent
from regret_envs.arrays import FloatArray


@dataclass(eq=False)
class FollowThePerturbedLeader(SteppedAgent):
    """The leader after fresh exponential noise.

    π_{t+1}(a) = P[a = argmin_b Σ_{s≤t} ℓ_s(b) − Z(b)], Z(b) ~ Exp(η). With u = exp(−η Z(a)), uniform on
    (0, 1), and D(b) = Σ ℓ(b) − Σ ℓ(a), the probability is

        ∫_0^1 Π_{b≠a} max(1 − u exp(−η D(b)), 0) du,

    a polynomial of degree d − 1 up to where a factor is 0: Gauss–Legendre quadrature with d/2 nodes is
    exact, and with 3.2 √d nodes it is accurate to 1e-12, since the integrand decays no faster than
    (1 − u)^(d−1). So no action is drawn, and bandit estimates have the right probabilities. O(d^2.5) per
    round.

    Args:
        step_size: η, the rate of the noise (its mean is 1/η). None: sqrt(H_d / T) / 2 with H_d =
            Σ_{k≤d} 1/k, or with t for T where the horizon is unknown; "anytime": the latter in any
            case. Right for losses of range 2, as in [−1, 1].

    Guarantee: R_T ≤ H_d / η + η ρ² T for losses of range ρ: the noise's expected maximum, and the cost
    of not knowing the next losses (Kalai and Vempala, "Efficient Algorithms for Online Decision
    Problems", 2005, whose losses are nonnegative and whose bound is relative).
    """

    reference = "Kalai and Vempala 2005"
    guarantee = "external regret ≤ H_d / η + η ρ² T"
    bounds = "external"

    def _bound_terms(self, num_actions: int, loss_range: float, shrinks: bool) -> tuple[float, float]:
        return sum(1 / k for k in range(1, num_actions + 1)), loss_range**2

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        self._begin(num_actions, horizon)
        self._cumulative = np.zeros((num_actions, num_runs))
        nodes, weights = np.polynomial.legendre.leggauss(
            math.ceil(min(num_actions / 2, 3.2 * math.sqrt(num_actions)))
        )
        self._nodes, self._weights = (nodes + 1) / 2, weights / 2

    def act(self) -> FloatArray:
        """The probabilities of being the perturbed leader."""
        scaled = self._cumulative * self._step()
        policies = np.empty_like(scaled)
        for action, own in enumerate(scaled):
            behind = np.delete(own - scaled, action, axis=0)  # −η D
            # No factor is negative up to u = exp(limit); the nodes lie between 0 and there.
            limit = (-behind).min(axis=0, initial=0.0)
            factors = 1.0 - self._nodes[:, None, None] * np.exp(behind + limit)
            policies[action] = np.exp(limit) * (self._weights @ factors.prod(axis=1))
        policies /= policies.sum(axis=0)
        return policies.T

    def observe(self, losses: FloatArray) -> None:
        """Add up the losses."""
        self._t += 1
        self._cumulative += losses.T
