"""Magnetic mirror descent: a pull toward a fixed policy makes the last iterate converge."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from regret_envs.agents.external.steps import SteppedAgent
from regret_envs.arrays import FloatArray
from regret_envs.simplex import softmax
from regret_envs.validation import non_negative


@dataclass(eq=False)
class MagneticMirrorDescent(SteppedAgent):
    """π_{t+1} = argmin_π η (⟨π, ℓ_t⟩ + τ KL(π ‖ uniform)) + KL(π ‖ π_t) ∝ (π_t exp(−η ℓ_t))^{1/(1 + ητ)}.

    In self-play in a zero-sum game the last iterate converges at a linear rate to the logit quantal
    response equilibrium π ∝ exp(−ℓ(π) / τ), if η ≤ τ / L² with L the largest payoff (Sokota,
    D'Orazio, Kolter, Loizou, Lanctot, Mitliagkas, Brown and Kroer, "A Unified Approach to Reinforcement
    Learning, Quantal Response Equilibria, and Two-Player Zero-Sum Games", ICLR 2023, whose α is our τ).

    Args:
        step_size: η, as in `Hedge`.
        temperature: τ ≥ 0; 0: Hedge with a fixed step.

    Raises:
        ValueError: if the step or the temperature is negative or not finite.

    Guarantee: R_T ≤ ln d / η + η ρ² T / 8 + τ T ln d for losses of range ρ and a fixed step, by the
    analysis of mirror descent with a composite term.
    """

    _: KW_ONLY
    temperature: float = 0.05

    reference = "Sokota et al. 2023"
    guarantee = "external regret ≤ ln d / η + η ρ² T / 8 + τ T ln d"
    bounds = "external"
    shares_bound: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        non_negative("temperature", self.temperature)

    def _bound_terms(self, num_actions: int, loss_range: float, shrinks: bool) -> tuple[float, float]:
        return math.log(num_actions), loss_range**2 / 8

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """ln d / η + η ρ² T / 8 + τ T ln d; infinite where the step shrinks."""
        if self.schedule(num_actions, horizon)[1]:
            return math.inf
        pull = self.temperature * horizon * math.log(num_actions)
        return super().regret_bound(num_actions, horizon, loss_range) + pull

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        self._begin(num_actions, horizon)
        self._logits = np.zeros((num_actions, num_runs))

    def act(self) -> FloatArray:
        """The current policy."""
        return softmax(self._logits.copy()).T

    def observe(self, losses: FloatArray) -> None:
        """Step along the negative losses, and toward the uniform policy."""
        step = self._step()
        self._t += 1
        self._logits -= step * np.asarray(losses, dtype=np.float64).T
        self._logits /= 1 + step * self.temperature
