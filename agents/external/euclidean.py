"""Euclidean learning: lazy (FTRL) and greedy (online gradient descent) projection onto the simplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regret_envs.agents.external.steps import SteppedAgent
from regret_envs.arrays import FloatArray
from regret_envs.simplex import project_to_simplex


@dataclass(eq=False)
class EuclideanFTRL(SteppedAgent):
    """Follow the regularized leader with ½‖π − 1/d‖²: π_{t+1} = Project(1/d − η Σ_{s≤t} ℓ_s).

    Args:
        step_size: η. None: sqrt((d − 1) / T) / d, or sqrt((d − 1) / t) / d where the horizon T is
            unknown; "anytime": the latter in any case. Right for losses of range 2, as in [−1, 1].

    Guarantee: R_T ≤ (1 − 1/d) / (2η) + η d ρ² T / 8 for losses of range ρ, since centered losses
    have a squared norm of at most d ρ² / 4 (Shalev-Shwartz, "Online Learning and Online Convex
    Optimization", 2012, Theorem 2.11, with the constant of a smooth conjugate).
    """

    reference = "Shalev-Shwartz 2012"
    guarantee = "external regret ≤ (1 − 1/d) / (2η) + η d ρ² T / 8"
    bounds = "external"

    def _bound_terms(self, num_actions: int, loss_range: float, shrinks: bool) -> tuple[float, float]:
        return (1 - 1 / num_actions) / 2, num_actions * loss_range**2 / 8

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        self._begin(num_actions, horizon)
        self._cumulative = np.zeros((num_actions, num_runs))

    def act(self) -> FloatArray:
        """Project(−η Σ ℓ); the constant 1/d changes nothing."""
        return project_to_simplex(self._cumulative * -self._step()).T

    def observe(self, losses: FloatArray) -> None:
        """Add up the losses."""
        self._t += 1
        self._cumulative += losses.T


@dataclass(eq=False)
class OnlineGradientDescent(SteppedAgent):
    """Online gradient descent: π_{t+1} = Project(π_t − η_t ℓ_t), from the uniform policy.

    Args:
        step_size: η. None: sqrt((d − 1) / T) / d, or sqrt(2 / (d t)) where the horizon T is unknown,
            t being the rounds seen before this one; "anytime": the latter in any case. Right for
            losses of range 2, as in [−1, 1].

    Guarantee: R_T ≤ (1 − 1/d) / (2η) + η d ρ² T / 8 for losses of range ρ; with steps that shrink,
    1 / η_T + (d ρ² / 8) Σ_t η_t, the distance to the best action being counted from every policy and
    not from the first alone (Zinkevich 2003).
    """

    reference = "Zinkevich 2003"
    guarantee = "external regret ≤ (1 − 1/d) / (2η) + η d ρ² T / 8"
    bounds = "external"

    def _bound_terms(self, num_actions: int, loss_range: float, shrinks: bool) -> tuple[float, float]:
        # Half the greatest squared distance of an action from another policy, or from the uniform one.
        penalty = float(num_actions > 1) if shrinks else (1 - 1 / num_actions) / 2
        return penalty, num_actions * loss_range**2 / 8

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        self._begin(num_actions, horizon)
        self._policies = np.full((num_actions, num_runs), 1.0 / num_actions)

    def act(self) -> FloatArray:
        """The current policy."""
        return self._policies.T

    def observe(self, losses: FloatArray) -> None:
        """Step along the negative losses and project."""
        gradients = np.asarray(losses, dtype=np.float64).T
        self._policies = project_to_simplex(self._policies - self._step() * gradients)
        self._t += 1
