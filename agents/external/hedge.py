"""Hedge, also known as entropy-FTRL and smoothed fictitious play, with optimistic and adaptive variants."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.agents.external.steps import SteppedAgent
from regret_envs.arrays import FloatArray
from regret_envs.simplex import softmax


@dataclass(eq=False)
class Hedge(SteppedAgent):
    """Hedge (entropy-FTRL): π_{t+1} = softmax(−η Σ_{s≤t} ℓ_s).

    Args:
        step_size: η. None: sqrt(2 ln d / T), or sqrt(2 ln d / t) where the horizon T is unknown;
            "anytime": sqrt(2 ln d / t) in any case. Right for losses of range 2, as in [−1, 1].

    Guarantee: R_T ≤ ln d / η + η ρ² T / 8 for losses of range ρ, so ρ · sqrt(T ln d / 2) at the best
    η (Freund and Schapire 1997; the constant from Cesa-Bianchi and Lugosi 2006, Theorem 2.2). With
    steps that shrink, ln d / η_T + (ρ² / 8) Σ_t η_t.
    """

    reference = "Freund and Schapire 1997"
    guarantee = "external regret ≤ ln d / η + η ρ² T / 8"
    bounds = "external"

    def _bound_terms(self, num_actions: int, loss_range: float, shrinks: bool) -> tuple[float, float]:
        return math.log(num_actions), loss_range**2 / 8

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        self._begin(num_actions, horizon)
        self._cumulative = np.zeros((num_actions, num_runs))

    def act(self) -> FloatArray:
        """softmax(−η Σ ℓ)."""
        return softmax(self._cumulative * -self._step()).T

    def observe(self, losses: FloatArray) -> None:
        """Add up the losses."""
        self._t += 1
        self._cumulative += losses.T


@dataclass(eq=False)
class OptimisticHedge(Hedge):
    """Optimistic Hedge: π_{t+1} = softmax(−η (Σ_{s≤t} ℓ_s + ℓ_t)), the last losses counted twice.

    Args:
        step_size: as in `Hedge`, so that by default the two differ in the prediction alone.

    Guarantee: R_T ≤ ln d / η + (η / 8) Σ_t ρ(ℓ_t − ℓ_{t−1})² with ρ(x) = max x − min x and ℓ_0 = 0, so
    ln d / η + η ρ² T / 2 against any losses, and far less where they change slowly, as in games between
    such agents (Rakhlin and Sridharan 2013; Syrgkanis, Agarwal, Luo and Schapire 2015, whose norms
    are larger than our half ranges).
    """

    reference = "Rakhlin and Sridharan 2013; Syrgkanis et al. 2015"
    guarantee = "external regret ≤ ln d / η + (η / 8) Σ_t ρ(ℓ_t − ℓ_{t−1})²"

    def _bound_terms(self, num_actions: int, loss_range: float, shrinks: bool) -> tuple[float, float]:
        return math.log(num_actions), loss_range**2 / 2

    def _default_scale(self, num_actions: int, shrinks: bool) -> float:
        return math.sqrt(2 * math.log(num_actions))

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self._predicted = np.zeros((num_actions, num_runs))

    def act(self) -> FloatArray:
        """softmax(−η (Σ ℓ + last ℓ))."""
        logits = self._cumulative + self._predicted
        logits *= -self._step()
        return softmax(logits).T

    def observe(self, losses: FloatArray) -> None:
        """Add up the losses and keep the last."""
        super().observe(losses)
        self._predicted[...] = losses.T


@dataclass(eq=False)
class AdaHedge(Agent):
    """AdaHedge: Hedge with the data-dependent step η_t = ln d / Δ_{t−1}.

    Δ_t = Σ_{s≤t} δ_s sums the mixability gaps δ_s = ⟨π_s, ℓ_s⟩ + (1/η_s) ln Σ_a π_s(a) exp(−η_s ℓ_s(a)),
    separately in every run. While Δ is 0 the step is infinite: uniform over the leaders. It needs
    neither the horizon nor the range of the losses, and is scale-invariant.

    Guarantee: R_T ≤ 2 Δ_T ≤ ρ sqrt(T ln d) + ρ (4/3 ln d + 2) for losses of range ρ (de Rooij, van Erven,
    Grünwald and Koolen, "Follow the Leader If You Can, Hedge If You Must", JMLR 2014, Theorem 6 with a
    round's variance at most ρ²/4).
    """

    reference = "de Rooij, van Erven, Grünwald and Koolen 2014"
    guarantee = "external regret ≤ ρ sqrt(T ln d) + ρ (4/3 ln d + 2)"
    bounds = "external"

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """ρ sqrt(T ln d) + ρ (4/3 ln d + 2)."""
        log_d = math.log(num_actions)
        return loss_range * (math.sqrt(horizon * log_d) + 4 / 3 * log_d + 2) if log_d else 0.0

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy with an infinite step."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self._excess = np.zeros((num_actions, num_runs))  # losses above the leader's
        self._gap = np.zeros(num_runs)  # Δ
        self._total: FloatArray | None = None  # Σ of the weights, once known

    def act(self) -> FloatArray:
        """softmax(−η Σ ℓ), or uniform over the leaders."""
        weights = self._weights(self._excess)
        self._total = weights.sum(0)
        policies = weights / self._total
        self.remember(policies)
        return policies.T

    def observe(self, losses: FloatArray) -> None:
        """Add up the losses and the mixability gap."""
        added = np.asarray(losses, dtype=np.float64).T
        added = added - added.min(0)  # changes no δ, and equal losses cost exactly 0
        total = self._weights(self._excess).sum(0) if self._total is None else self._total
        self._excess += added
        least = self._excess.min(0)
        self._excess -= least
        # The mix loss as a difference of potentials whose minima are taken out, so that nothing cancels.
        mix = least - np.log(self._weights(self._excess).sum(0) / total) / self._step()
        self._gap += np.maximum((self.recall() * added).sum(0) - mix, 0.0)
        self._total = None

    def _step(self) -> FloatArray:
        steps = np.full(len(self._gap), np.inf)
        np.divide(math.log(len(self._excess)), self._gap, out=steps, where=self._gap > 0)
        return steps

    def _weights(self, excess: FloatArray) -> FloatArray:
        """exp(−η excess), at an infinite step 1 for the leaders and 0 for the others."""
        # Inf · 0 has no value; the leaders' weight is 1 at every step.
        exponents = np.multiply(excess, -self._step(), out=np.zeros_like(excess), where=excess > 0)
        return np.exp(exponents, out=exponents)
