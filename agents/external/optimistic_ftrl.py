"""Optimistic follow the regularized leader, with four regularizers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from regret_envs.agents.external.steps import SteppedAgent
from regret_envs.arrays import FloatArray
from regret_envs.names import lookup
from regret_envs.simplex import project_to_simplex, softmax


def tsallis_policy(losses: FloatArray) -> FloatArray:
    """argmin_π ⟨π, θ⟩ − 2 Σ_a √π(a) over the simplex, so π(a) = (θ(a) + λ)^−2.

    The Tsallis entropy of order 1/2 up to constants. θ: shape (num_actions, ...), not changed.
    """
    return _powers(losses, 2)


def log_barrier_policy(losses: FloatArray) -> FloatArray:
    """argmin_π ⟨π, θ⟩ − Σ_a ln π(a) over the simplex, so π(a) = 1 / (θ(a) + λ). θ: as in `tsallis_policy`."""
    return _powers(losses, 1)


def _powers(losses: FloatArray, power: int) -> FloatArray:
    """(θ + λ)^−p with the λ that makes them sum to 1.

    The generalized mean (Σ (θ + λ)^−p)^(−1/p) is concave and increasing in λ, and below 1 where the
    largest policy is 1, so Newton's method from there rises to the root and does not pass it.
    """
    excess = losses - losses.min(axis=0) + 1.0
    least = np.ones(excess.shape[1:])
    for _ in range(_NEWTON_STEPS):
        inverse = 1.0 / excess
        powers = inverse**power
        total = powers.sum(axis=0)
        root = total ** (1.0 / power)
        rise = (root - 1.0) * total / (powers * inverse).sum(axis=0)
        excess += rise
        least += rise
        # Relative, since λ is as large as √d or d.
        if (rise <= _NEWTON_TOLERANCE * least).all():
            break
    policies = excess**-power
    return policies / policies.sum(axis=0)


_NEWTON_STEPS, _NEWTON_TOLERANCE = 50, 1e-14

Regularizer = Literal["entropy", "euclidean", "tsallis", "log_barrier"]

_POLICIES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "entropy": lambda losses: softmax(-losses),
    "euclidean": lambda losses: project_to_simplex(-losses),
    "tsallis": tsallis_policy,
    "log_barrier": log_barrier_policy,
}


@dataclass(eq=False)
class OptimisticFTRL(SteppedAgent):
    """π_{t+1} = argmin_π η ⟨π, Σ_{s≤t} ℓ_s + ℓ_t⟩ + ψ(π): it predicts the last losses again.

    ψ is Σ π ln π ("entropy": optimistic Hedge), ½‖π‖² ("euclidean"), −2 Σ √π ("tsallis", of order 1/2) or
    −Σ ln π ("log_barrier").

    Args:
        step_size: η, as in `Hedge`: by default the step that is best for losses of range 2 without a guess,
            up to ln T with the log barrier.
        regularizer: ψ.

    Raises:
        UnknownNameError: for another regularizer.

    Guarantee: R_T ≤ D / η + C η Σ_t ρ(ℓ_t − ℓ_{t−1})² with ρ(x) = max x − min x and ℓ_0 = 0, so at most
    D / η + 4 C η ρ² T for losses of range ρ (Rakhlin and Sridharan 2013; Syrgkanis, Agarwal, Luo and
    Schapire 2015). In the order above, from the regularizer's range and strong convexity:

        D = ln d,  C = 1/8            strongly convex by 1 in ‖·‖₁
        D = (1 − 1/d) / 2,  C = d/8   by 1 in ‖·‖₂
        D = 2√d − 2,  C = 1/4         by 1/2 in ‖·‖₁
        D = (d − 1) ln T,  C = 1/8    by 1 in ‖·‖₁, and ρ more: the best action is mixed with uniform / T
    """

    _: KW_ONLY
    regularizer: Regularizer = "entropy"

    reference = "Rakhlin and Sridharan 2013; Syrgkanis et al. 2015"
    guarantee = "external regret ≤ D / η + C η Σ_t ρ(ℓ_t − ℓ_{t−1})²"
    bounds = "external"

    def __post_init__(self) -> None:
        super().__post_init__()
        lookup("regularizer", self.regularizer, _POLICIES)

    def _terms(self, num_actions: int) -> tuple[float, float]:
        """D, without ln T, and C."""
        d = num_actions
        return {
            "entropy": (math.log(d), 1 / 8),
            "euclidean": ((1 - 1 / d) / 2, d / 8),
            "tsallis": (2 * math.sqrt(d) - 2, 1 / 4),
            "log_barrier": (d - 1.0, 1 / 8),
        }[self.regularizer]

    def _bound_terms(self, num_actions: int, loss_range: float, shrinks: bool) -> tuple[float, float]:
        penalty, curvature = self._terms(num_actions)
        return penalty, curvature * (2 * loss_range) ** 2

    def _default_scale(self, num_actions: int, shrinks: bool) -> float:
        penalty, curvature = self._terms(num_actions)
        return math.sqrt(penalty / (4 * curvature))

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """D / η_T + 4 C ρ² Σ_t η_t."""
        bound = super().regret_bound(num_actions, horizon, loss_range)
        if self.regularizer != "log_barrier" or num_actions == 1:
            return bound
        scale, shrinks = self.schedule(num_actions, horizon)
        last = scale / math.sqrt(max(horizon - 1, 1)) if shrinks else scale
        return bound + ((num_actions - 1) * (math.log(horizon) - 1) / last if last else 0.0) + loss_range

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        self._begin(num_actions, horizon)
        self._cumulative = np.zeros((num_actions, num_runs))
        self._predicted = np.zeros((num_actions, num_runs))

    def act(self) -> FloatArray:
        """The minimizer."""
        return _POLICIES[self.regularizer]((self._cumulative + self._predicted) * self._step()).T

    def observe(self, losses: FloatArray) -> None:
        """Add up the losses and keep the last."""
        self._t += 1
        self._predicted[...] = losses.T
        self._cumulative += self._predicted
