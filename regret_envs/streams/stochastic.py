"""Stochastic streams: losses drawn from laws that ignore the agents."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.streams.shifting import (
    check_probabilities,
)
from regret_envs.validation import at_least, non_negative
from regret_envs.worlds import Stream


@dataclass(frozen=True)
class Gaussian(Stream):
    """Independent losses ℓ_t ~ N(0, scale² I).

    Args:
        num_actions: d.
        scale: standard deviation of every loss.

    Raises:
        ValueError: if `num_actions` is below 1 or the scale is negative or not finite.
    """

    num_actions: int = 3
    _: KW_ONLY
    scale: float = 1.0

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        non_negative("scale", self.scale)

    @property
    def loss_scale(self) -> float:
        """The standard deviation."""
        return self.scale

    def draw(self, rng: np.random.Generator, state: Any, t: int, num_rounds: int) -> FloatArray:
        """Independent of the state and of the round."""
        return self.scale * rng.standard_normal((num_rounds, self.num_actions))


BiasLaw = Literal["gaussian", "uniform"]


@dataclass(frozen=True)
class BiasedGaussian(Stream):
    """Losses ℓ_t = m + ε_t with a bias m drawn once per run and ε_t ~ N(0, noise_scale² I).

    Args:
        num_actions: d.
        bias_scale: standard deviation of every entry of m.
        bias_law: "gaussian", N(0, bias_scale²), or "uniform" with the same standard deviation.
        noise_scale: standard deviation of ε_t(a), the stream's `loss_scale`.

    Raises:
        ValueError: if `num_actions` is below 1, a scale is negative or not finite, or the law unknown.
    """

    num_actions: int = 3
    _: KW_ONLY
    bias_scale: float = 0.35
    bias_law: BiasLaw = "gaussian"
    noise_scale: float = 1.0

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        non_negative("bias_scale", self.bias_scale)
        non_negative("noise_scale", self.noise_scale)
        if self.bias_law not in ("gaussian", "uniform"):
            raise ValueError(f"bias_law must be 'gaussian' or 'uniform', got {self.bias_law!r}")

    @property
    def loss_scale(self) -> float:
        """The standard deviation of the noise."""
        return self.noise_scale

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> FloatArray:
        """The run's bias m, shape (num_actions,)."""
        if self.bias_law == "gaussian":
            return self.bias_scale * rng.standard_normal(self.num_actions)
        half_width = np.sqrt(3.0) * self.bias_scale
        return rng.uniform(-half_width, half_width, self.num_actions)

    def draw(self, rng: np.random.Generator, state: FloatArray, t: int, num_rounds: int) -> FloatArray:
        """The bias and fresh noise."""
        losses = rng.standard_normal((num_rounds, self.num_actions))
        losses *= self.noise_scale
        losses += state
        return losses


@dataclass(frozen=True)
class DriftingMean(Stream):
    """Losses ℓ_t = m_t + ε_t around a mean that walks at random, m_t = m_{t−1} + δ_t from m_0 = 0.

    δ_t ~ N(0, drift_scale² I) and ε_t ~ N(0, noise_scale² I): after t rounds the means differ by a
    standard deviation of drift_scale · sqrt(2 t), so the best action changes.

    Args:
        num_actions: d.
        drift_scale: standard deviation of a round's step of the mean.
        noise_scale: standard deviation of ε_t(a), the stream's `loss_scale`.

    Raises:
        ValueError: if `num_actions` is below 1 or a scale is negative or not finite.
    """

    num_actions: int = 3
    _: KW_ONLY
    drift_scale: float = 0.02
    noise_scale: float = 1.0

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        non_negative("drift_scale", self.drift_scale)
        non_negative("noise_scale", self.noise_scale)

    @property
    def loss_scale(self) -> float:
        """The standard deviation of the noise."""
        return self.noise_scale

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> FloatArray:
        """The mean before round 1, shape (num_actions,)."""
        return np.zeros(self.num_actions)

    def draw(self, rng: np.random.Generator, state: FloatArray, t: int, num_rounds: int) -> FloatArray:
        """Walk on and add noise; a round's step and noise are drawn together."""
        z = rng.standard_normal((num_rounds, 2, self.num_actions))
        # Starting the running sum at the mean so far makes it the same sum in whatever blocks.
        means = np.cumsum(np.concatenate([state[None], self.drift_scale * z[:, 0]]), axis=0)[1:]
        state[:] = means[-1]
        return means + self.noise_scale * z[:, 1]


@dataclass(frozen=True)
class Bernoulli(Stream):
    """Independent losses in {0, 1}: every action errs with probability `mean`, one with `mean − gap`.

    The better action is drawn once per run. With `gap` of the order of sqrt(d / T) this is the
    instance of the bandit lower bound (Auer, Cesa-Bianchi, Freund and Schapire 2002).

    Args:
        num_actions: d.
        mean: probability of a loss of 1.
        gap: by how much it is lower for the better action.

    Raises:
        ValueError: if `num_actions` is below 1, a probability lies outside [0, 1],
            or `gap` is negative.
    """

    num_actions: int = 3
    _: KW_ONLY
    mean: float = 0.5
    gap: float = 0.1

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        check_probabilities(self.mean, self.gap)

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> FloatArray:
        """The means, shape (num_actions,)."""
        means = np.full(self.num_actions, self.mean)
        means[rng.integers(self.num_actions)] -= self.gap
        return means

    def draw(self, rng: np.random.Generator, state: FloatArray, t: int, num_rounds: int) -> FloatArray:
        """Fresh errors."""
        return (rng.random((num_rounds, self.num_actions)) < state).astype(np.float64)


@dataclass
class _Phases:
    rng: np.random.Generator
    best: int


@dataclass(frozen=True)
class SwitchingBest(Stream):
    """Independent losses in {0, 1}, as in `Bernoulli`, with a new best action every `phase_length` rounds.

    The best action of a phase is drawn uniformly from those that were not the best in the phase
    before. The shifting experts problem of Herbster and Warmuth, "Tracking the Best Expert", 1998.

    Args:
        num_actions: d.
        phase_length: rounds until the best action changes.
        mean: probability of a loss of 1.
        gap: by how much it is lower for the best action of the phase.

    Raises:
        ValueError: if `num_actions` or `phase_length` is below 1, a probability lies outside [0, 1],
            or `gap` is negative.
    """

    num_actions: int = 3
    _: KW_ONLY
    phase_length: int = 100
    mean: float = 0.5
    gap: float = 0.25

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        at_least("phase_length", self.phase_length, 1)
        check_probabilities(self.mean, self.gap)

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> _Phases:
        """The first phase's best action, and a generator of its own for the phases to come."""
        (phase_rng,) = rng.spawn(1)
        return _Phases(phase_rng, int(phase_rng.integers(self.num_actions)))

    def draw(self, rng: np.random.Generator, state: _Phases, t: int, num_rounds: int) -> FloatArray:
        """Fresh errors, phase after phase."""
        means = np.full((num_rounds, self.num_actions), self.mean)
        start = 0
        while start < num_rounds:
            into_phase = (t + start) % self.phase_length
            if into_phase == 0 and t + start > 0 and self.num_actions > 1:
                step = state.rng.integers(1, self.num_actions)
                state.best = int(state.best + step) % self.num_actions
            stop = start + self.phase_length - into_phase
            means[start:stop, state.best] -= self.gap
            start = stop
        return (rng.random(means.shape) < means).astype(np.float64)


@dataclass(frozen=True)
class Rademacher(Stream):
    """Independent fair signs: ℓ_t(a) is −1 or 1.

    No agent's expected regret differs from any other's: it is E[max_a −Σ_t ℓ_t(a)], which tends to
    sqrt(2 T ln d) for large T and d, the very bound of Hedge (Cesa-Bianchi, Freund, Haussler, Helmbold,
    Schapire and Warmuth, "How to Use Expert Advice", 1997).

    Raises:
        ValueError: if `num_actions` is below 1.
    """

    num_actions: int = 3

    bounds = (-1.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)

    @property
    def loss_scale(self) -> float:
        """The range, 2."""
        return 2.0

    def draw(self, rng: np.random.Generator, state: Any, t: int, num_rounds: int) -> FloatArray:
        """Fresh signs."""
        return np.where(rng.random((num_rounds, self.num_actions)) < 0.5, -1.0, 1.0)


@dataclass(frozen=True)
class Alternating(Stream):
    """A loss of 1 on one action at a time, in turn: ℓ_t = e_a, a = (t − 1) mod d. Deterministic.

    A follower of the leader that starts uniform and breaks ties to the lowest index is always on the
    action that loses next: it loses 1/d + T − 1 where the best action loses ⌊T/d⌋, so its regret is
    linear (Cesa-Bianchi and Lugosi 2006, Section 4.3, has the case of two actions).

    Raises:
        ValueError: if `num_actions` is below 1.
    """

    num_actions: int = 2

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def draw(self, rng: np.random.Generator, state: Any, t: int, num_rounds: int) -> FloatArray:
        """Rows of the identity in turn."""
        return np.eye(self.num_actions)[np.arange(t, t + num_rounds) % self.num_actions]
