"""Bandit agents for adversarial losses; they are shown the estimates of `regret_envs.feedback.Bandit`."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.agents.external.hedge import Hedge
from regret_envs.agents.external.optimistic_ftrl import tsallis_policy
from regret_envs.arrays import FloatArray
from regret_envs.feedback import AssumedLosses
from regret_envs.validation import positive


class AssumesInterval(Agent):
    """An agent for losses in [0, ρ]; a dataclass with the field `loss_range`.

    Attributes:
        loss_range: ρ as it was given; None: as `set_range` told, else 1.
    """

    loss_range: float | None
    assumed_losses: AssumedLosses = "interval"
    _told: float | None = None

    def __post_init__(self) -> None:
        if self.loss_range is not None:
            positive("loss_range", self.loss_range)

    def set_range(self, loss_range: float | None) -> None:
        """Remember ρ, for an agent that was not given one."""
        self._told = loss_range

    @property
    def played_range(self) -> float:
        """ρ: as it was given, as it was told, or 1."""
        return self.loss_range or self._told or 1.0


@dataclass(eq=False)
class Exp3(AssumesInterval, Hedge):
    """Exp3: Hedge on importance-weighted estimates, with the step that their variance asks for.

    Args:
        step_size: η. None: sqrt(2 ln d / (d T)) / ρ, or with t for T where the horizon is unknown;
            "anytime": the latter in any case.
        loss_range: ρ; the losses seen, the layer's offset taken off, lie in [0, ρ]. None: as the world says,
            else 1.

    Raises:
        ValueError: if the step is negative or not finite, or ρ is not positive and finite.

    Guarantee: the expected regret is at most ln d / η + η ρ² d T / 2, at the default step
    ρ sqrt(2 T d ln d) (Auer, Cesa-Bianchi, Freund and Schapire, "The Nonstochastic Multiarmed Bandit
    Problem", 2002; this form and constant Bubeck and Cesa-Bianchi 2012, Theorem 3.1).
    """

    _: KW_ONLY
    loss_range: float | None = None

    reference = "Auer, Cesa-Bianchi, Freund and Schapire 2002"
    guarantee = "expected external regret ≤ ρ sqrt(2 T d ln d)"
    takes = "bandit"
    shares_bound: ClassVar[bool] = False

    def __post_init__(self) -> None:
        Hedge.__post_init__(self)
        AssumesInterval.__post_init__(self)
        if isinstance(self.step_size, (int, float)):
            self.assumed_losses = "any"  # the step says what losses are large

    def _bound_terms(self, num_actions: int, loss_range: float, shrinks: bool) -> tuple[float, float]:
        return math.log(num_actions), num_actions * loss_range**2 / 2

    def _default_scale(self, num_actions: int, shrinks: bool) -> float:
        return math.sqrt(2 * math.log(num_actions) / num_actions) / self.played_range


@dataclass(eq=False)
class Exp3IX(Exp3):
    """Exp3-IX: Exp3 on estimates with implicit exploration γ = η / 2, biased down and of less variance.

    It asks the layer for them by its attribute `implicit_exploration`.

    Args: as in `Exp3`, with the same default step.

    Guarantee: with probability at least 1 − δ the realized regret is at most
    ρ (2 sqrt(2 T d ln d) + (sqrt(2 T d / ln d) + 1) ln(2/δ)), so its expectation is at most that with
    1 + ln 2 for ln(2/δ) (Neu, "Explore No More", NeurIPS 2015, Theorem 1).
    """

    reference = "Kocák, Neu, Valko and Munos 2014; Neu 2015"
    guarantee = "realized external regret ≤ ρ (2 sqrt(2 T d ln d) + (sqrt(2 T d / ln d) + 1) ln(2/δ))"

    @property
    def implicit_exploration(self) -> float:
        """γ in units of the probability: η ρ / 2."""
        return self._step() * self.played_range / 2

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """In expectation, at the default step for a known horizon; infinite for another or beyond ρ."""
        if num_actions == 1:
            return 0.0
        if self.step_size is not None or loss_range > self.played_range:
            return math.inf
        cells, log_d = 2 * horizon * num_actions, math.log(num_actions)
        tail = (math.sqrt(cells / log_d) + 1) * (1 + math.log(2))
        return self.played_range * (2 * math.sqrt(cells * log_d) + tail)


@dataclass(eq=False)
class TsallisINF(AssumesInterval):
    """Tsallis-INF: π_t = argmin_π ⟨π, L̂_{t−1} / (ρ √t)⟩ − 2 Σ √π on importance-weighted estimates.

    FTRL with the Tsallis entropy of order 1/2 and step 2/√t in the paper's scale. Best up to constants both
    where losses are stochastic and where they are adversarial, without knowing which.

    Args:
        loss_range: ρ; the losses seen, the layer's offset taken off, lie in [0, ρ]. None: as the world says,
            else 1.

    Raises:
        ValueError: if ρ is not positive and finite.

    Guarantee: the expected regret is at most ρ (4 sqrt(T d) + 1), and with a gap Δ to every worse
    action O(ρ Σ ln T / Δ) (Zimmert and Seldin, "Tsallis-INF: An Optimal Algorithm for Stochastic and
    Adversarial Bandits", JMLR 2021, Theorem 1).
    """

    _: KW_ONLY
    loss_range: float | None = None

    reference = "Zimmert and Seldin 2021"
    guarantee = "expected external regret ≤ ρ (4 sqrt(T d) + 1); O(Σ ln T / Δ) with gaps"
    bounds = "external"
    takes = "bandit"

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """ρ (4 sqrt(T d) + 1), in expectation; infinite beyond ρ."""
        if num_actions == 1:
            return 0.0
        if loss_range > self.played_range:
            return math.inf
        return self.played_range * (4 * math.sqrt(horizon * num_actions) + 1)

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        self._t = 0
        self._cumulative = np.zeros((num_actions, num_runs))

    def act(self) -> FloatArray:
        """The minimizer."""
        return tsallis_policy(self._cumulative / (self.played_range * math.sqrt(self._t + 1))).T

    def observe(self, losses: FloatArray) -> None:
        """Add up the estimates."""
        self._t += 1
        self._cumulative += losses.T
