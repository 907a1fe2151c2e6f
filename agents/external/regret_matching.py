"""Regret matching: play in proportion to the positive regrets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regret_envs.agents.base import Agent, Bounds
from regret_envs.arrays import FloatArray


def _proportional(weights: FloatArray) -> FloatArray:
    """max(w, 0) / Σ max(w, 0) along the first axis, uniform where no entry is positive."""
    positive = np.maximum(weights, 0.0)
    total = np.add.reduce(positive, axis=0)
    if not total.all():
        positive[:, total == 0] = 1.0
        total = np.add.reduce(positive, axis=0)
    positive /= total
    return positive


@dataclass(eq=False)
class RegretMatching(Agent):
    """Regret matching: π_{t+1} ∝ max(Σ_{s≤t} r_s, 0) with r_s(a) = ⟨ℓ_s, π_s⟩ − ℓ_s(a).

    Uniform where no sum is positive. Invariant to the scale of the losses.

    Guarantee: R_T ≤ sqrt(Σ_t ‖r_t‖²) ≤ ρ sqrt((d − 1) T) for losses of range ρ (Hart and Mas-Colell, "A
    Simple Adaptive Procedure Leading to Correlated Equilibrium", Econometrica 2000, here the
    procedure for external regret of their section 4; Blackwell 1956 for the proof).
    """

    reference = "Hart and Mas-Colell 2000"
    guarantee = "external regret ≤ ρ sqrt((d − 1) T)"
    bounds: ClassVar[Bounds] = "external"
    shares_bound: ClassVar[bool] = True

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """ρ sqrt((d − 1) T): ‖r_t‖² is greatest where the policy sits on an extreme action."""
        return loss_range * math.sqrt((num_actions - 1) * horizon)

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self._regrets = np.zeros((num_actions, num_runs))

    def act(self) -> FloatArray:
        """The positive regrets, normalized."""
        policies = _proportional(self._regrets)
        self.remember(policies)
        return policies.T

    def observe(self, losses: FloatArray) -> None:
        """Add up the regrets."""
        self._regrets += self._round_regrets(losses)

    def _round_regrets(self, losses: FloatArray) -> FloatArray:
        """r_t of the first round not seen yet, shape (num_actions, num_runs)."""
        return np.einsum("ar,ar->r", self.recall(), losses.T) - losses.T


@dataclass(eq=False)
class RegretMatchingPlus(RegretMatching):
    """Regret matching+: the sums are floored at 0 in every round, Q_t = max(Q_{t−1} + r_t, 0), π_{t+1} ∝ Q_t.

    Guarantee: as regret matching's, R_T ≤ ρ sqrt((d − 1) T) (Tammelin, "Solving Large Imperfect
    Information Games Using CFR+", 2014; Tammelin, Burch, Johanson and Bowling 2015 for the proof).
    """

    reference = "Tammelin 2014"

    def observe(self, losses: FloatArray) -> None:
        """Add the round's regrets and floor the sums at 0."""
        super().observe(losses)
        np.maximum(self._regrets, 0.0, out=self._regrets)


@dataclass(eq=False)
class PredictiveRegretMatchingPlus(RegretMatchingPlus):
    """Predictive regret matching+: π_{t+1} ∝ max(Q_t + r_t, 0), the last round's regrets counted twice.

    Guarantee: R_T ≤ sqrt(Σ_t ‖r_t − r_{t−1}‖²) with r_0 = 0, at most ρ sqrt((d − 1)(4T − 3)) (Farina,
    Kroer and Sandholm, "Faster Game Solving via Predictive Blackwell Approachability", AAAI 2021).
    """

    reference = "Farina, Kroer and Sandholm 2021"
    guarantee = "external regret ≤ sqrt(Σ_t ‖r_t − r_{t−1}‖²) ≤ ρ sqrt((d − 1)(4T − 3))"

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """ρ sqrt((d − 1)(4T − 3))."""
        return loss_range * math.sqrt((num_actions - 1) * (4 * horizon - 3))

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy, expecting no regret."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self._predicted = np.zeros((num_actions, num_runs))

    def act(self) -> FloatArray:
        """The positive part of the sums and the prediction, normalized."""
        policies = _proportional(self._regrets + self._predicted)
        self.remember(policies)
        return policies.T

    def observe(self, losses: FloatArray) -> None:
        """Add the round's regrets, floor the sums at 0 and expect the same regrets again."""
        self._predicted = self._round_regrets(losses)
        self._regrets += self._predicted
        np.maximum(self._regrets, 0.0, out=self._regrets)
