"""Parameter-free agents: no step size to tune, and regret that adapts to the losses."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.arrays import FloatArray
from regret_envs.validation import positive


def normalized(logits: FloatArray) -> FloatArray:
    """exp(logits) / Σ exp(logits) along the first axis, uniform where all are −∞."""
    top = logits.max(0)
    weights = np.exp(logits - np.where(np.isfinite(top), top, 0.0))
    weights[:, np.isneginf(top)] = 1.0
    return weights / weights.sum(0)


def adanormalhedge_logits(regrets: FloatArray, scales: FloatArray) -> FloatArray:
    """ln(Φ(R + 1, C + 1) − Φ(R − 1, C + 1)) with Φ(R, C) = exp(max(R, 0)² / 3C), −∞ where R ≤ −1.

    Luo and Schapire, "Achieving All with No Parameters: AdaNormalHedge", COLT 2015.

    Args:
        regrets: R, of any shape.
        scales: C, the same shape.
    """
    scale = 3 * (scales + 1)
    above = np.maximum(regrets + 1, 0) ** 2 / scale
    below = np.maximum(regrets - 1, 0) ** 2 / scale
    with np.errstate(divide="ignore"):
        return above + np.log(-np.expm1(below - above))


@dataclass(eq=False)
class RegretPotentialAgent(Agent):
    """An agent that weighs actions by a potential of their regrets r_t(a) = (⟨π_t, ℓ_t⟩ − ℓ_t(a)) / ρ.

    Args:
        loss_range: ρ, an upper bound on max_a ℓ_t(a) − min_a ℓ_t(a); 2 for losses in [−1, 1].

    Raises:
        ValueError: if it is not positive and finite.
    """

    _: KW_ONLY
    loss_range: float = 2.0

    bounds = "external"
    assumed_losses = "range"

    def __post_init__(self) -> None:
        positive("loss_range", self.loss_range)

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self._regrets = np.zeros((num_actions, num_runs))
        self._scales = np.zeros((num_actions, num_runs))

    @abstractmethod
    def _log_weights(self) -> FloatArray:
        """ln of the weights, −∞ for none; shape (num_actions, num_runs)."""

    @abstractmethod
    def _scale(self, regrets: FloatArray) -> FloatArray:
        """What a round adds to the scale of the regrets."""

    def act(self) -> FloatArray:
        """The weights, normalized; uniform where none is positive."""
        policies = normalized(self._log_weights())
        self.remember(policies)
        return policies.T

    def observe(self, losses: FloatArray) -> None:
        """Add up the regrets and their scale."""
        scaled = np.asarray(losses, dtype=np.float64).T / self.loss_range
        regrets = (self.recall() * scaled).sum(0) - scaled
        self._regrets += regrets
        self._scales += self._scale(regrets)


@dataclass(eq=False)
class AdaNormalHedge(RegretPotentialAgent):
    """AdaNormalHedge: weights w = Φ(R + 1, C + 1) − Φ(R − 1, C + 1), Φ(R, C) = exp(max(R, 0)² / 3C).

    R sums the regrets and C their absolute values, action by action.

    Guarantee: against action a, sqrt(3 C (ln d + ln B + ln(1 + ln d))) with B ≤ 5/2 + 3/2 ln(1 + T) and
    C ≤ T, times ρ (Luo and Schapire, "Achieving All with No Parameters: AdaNormalHedge", COLT 2015,
    Theorem 1 for one action and the uniform prior).
    """

    reference = "Luo and Schapire 2015"
    guarantee = "external regret ≤ ρ sqrt(3 C (ln d + ln B + ln(1 + ln d))), C ≤ T"

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """The bound at C = T, for losses within the agent's `loss_range`."""
        if num_actions == 1:
            return 0.0
        if loss_range > self.loss_range:
            return math.inf
        log_d, log_b = math.log(num_actions), math.log(2.5 + 1.5 * math.log(1 + horizon))
        return self.loss_range * math.sqrt(3 * horizon * (log_d + log_b + math.log(1 + log_d)))

    def _log_weights(self) -> FloatArray:
        return adanormalhedge_logits(self._regrets, self._scales)

    def _scale(self, regrets: FloatArray) -> FloatArray:
        return np.abs(regrets)


@dataclass(eq=False)
class Squint(RegretPotentialAgent):
    """Squint: weights w = Σ_j γ_j η_j exp(η_j R − η_j² V) over the steps η_j = 2^{−j}, j = 1 … 20.

    R sums the regrets and V their squares, action by action; the prior over the steps is
    γ_j = 1/j − 1/(j + 1), the rest on the last.

    Guarantee: against action a, min_j η_j V + ln(d / γ_j) / η_j, times ρ, V ≤ T (Koolen and van Erven,
    "Second-Order Quantile Methods for Experts and Combinatorial Games", COLT 2015, whose argument holds
    for any prior over steps up to 1/2).
    """

    reference = "Koolen and van Erven 2015"
    guarantee = "external regret ≤ ρ min_j η_j V + ln(d / γ_j) / η_j, V ≤ T"

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """The bound at V = T, for losses within the agent's `loss_range`."""
        if num_actions == 1:
            return 0.0
        if loss_range > self.loss_range:
            return math.inf
        return self.loss_range * float(np.min(_STEPS * horizon + np.log(num_actions / _PRIOR) / _STEPS))

    def _log_weights(self) -> FloatArray:
        steps = _STEPS[:, None, None]
        terms = steps * (self._regrets - steps * self._scales)
        terms += np.log(_PRIOR * _STEPS)[:, None, None]
        top = terms.max(0)
        terms -= top
        return top + np.log(np.exp(terms, out=terms).sum(0))

    def _scale(self, regrets: FloatArray) -> FloatArray:
        return regrets**2


_STEPS = 0.5 ** np.arange(1, 21)
_PRIOR = np.append(1 / (np.arange(1.0, 20) * np.arange(2.0, 21)), 1 / 20)
