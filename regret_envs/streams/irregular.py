"""Losses of unusual kinds: hidden states, clustered volatility, chirps, late needles, copies."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.streams.shifting import check_probabilities
from regret_envs.validation import at_least, non_negative
from regret_envs.worlds import Bounds, Stream


@dataclass
class _Hidden:
    errors: FloatArray  # (num_states, num_actions)
    state: int


@dataclass(frozen=True)
class MarkovModulated(Stream):
    """Losses in {0, 1} whose probabilities depend on a hidden state that a Markov chain moves.

    In every state an action errs with a probability of its own, drawn uniformly from [0, 1] once a run. The
    state stays with probability `stay` and else moves to another one, each as likely.

    Args:
        num_actions: d.
        num_states: hidden states, at least 2.
        stay: probability of staying in a round.

    Raises:
        ValueError: if `num_actions` is below 1, `num_states` below 2 or `stay` not a probability.
    """

    num_actions: int = 3
    _: KW_ONLY
    num_states: int = 3
    stay: float = 0.95

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        at_least("num_states", self.num_states, 2)
        if not 0 <= self.stay <= 1:
            raise ValueError(f"stay must be a probability, got {self.stay!r}")

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> _Hidden:
        """The states' probabilities of error, and the first state."""
        return _Hidden(rng.random((self.num_states, self.num_actions)), int(rng.integers(self.num_states)))

    def draw(self, rng: np.random.Generator, state: _Hidden, t: int, num_rounds: int) -> FloatArray:
        """Errors of the state, which then moves."""
        draws = rng.random((num_rounds, self.num_actions + 2))
        losses = np.empty((num_rounds, self.num_actions))
        for row, draw in zip(losses, draws, strict=True):
            row[:] = draw[2:] < state.errors[state.state]
            if draw[0] >= self.stay:
                step = 1 + int(draw[1] * (self.num_states - 1))
                state.state = (state.state + step) % self.num_states
        return losses


@dataclass(frozen=True)
class Garch(Stream):
    """Gaussian losses with clustered volatility: ℓ_t(a) = m_a + σ_t(a) ε_t(a), a GARCH(1, 1).

    σ²_t = 1 − α − β + α x²_{t−1} + β σ²_{t−1} with x = σ ε, so the long-run variance is 1 (Bollerslev,
    "Generalized Autoregressive Conditional Heteroskedasticity", 1986).

    Args:
        num_actions: d.
        reaction: α.
        persistence: β.
        mean_scale: standard deviation of the means m_a, drawn once a run.

    Raises:
        ValueError: if `num_actions` is below 1, a number is negative, or α + β is not below 1.
    """

    num_actions: int = 3
    _: KW_ONLY
    reaction: float = 0.2
    persistence: float = 0.75
    mean_scale: float = 0.05

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        non_negative("mean_scale", self.mean_scale)
        if non_negative("reaction", self.reaction) + non_negative("persistence", self.persistence) >= 1:
            raise ValueError(
                f"reaction + persistence must be below 1, got {self.reaction} + {self.persistence}"
            )

    @property
    def loss_scale(self) -> float:
        """The long-run standard deviation, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> FloatArray:
        """The means and the variances of the first round, shape (2, num_actions)."""
        return np.stack([self.mean_scale * rng.standard_normal(self.num_actions), np.ones(self.num_actions)])

    def draw(self, rng: np.random.Generator, state: FloatArray, t: int, num_rounds: int) -> FloatArray:
        """Noise of the variance, which then follows it."""
        losses = rng.standard_normal((num_rounds, self.num_actions))
        constant = 1 - self.reaction - self.persistence
        for row in losses:
            row *= np.sqrt(state[1])
            state[1] = constant + self.reaction * row**2 + self.persistence * state[1]
            row += state[0]
        return losses


@dataclass(frozen=True)
class Chirps(Stream):
    """Means that swing faster and faster, in noise: ℓ_t(a) = amplitude · sin(2π (c u² + a / d)) + ε_t(a).

    u = t / T is the share of the horizon that is over, so there are c swings in all and 2 c / T a round at
    the end.

    Args:
        num_actions: d.
        swings: c.
        amplitude: of the means; the noise has standard deviation 1.

    Raises:
        ValueError: if `num_actions` is below 1 or a number is negative.
    """

    num_actions: int = 3
    _: KW_ONLY
    swings: float = 20.0
    amplitude: float = 0.5

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        non_negative("swings", self.swings)
        non_negative("amplitude", self.amplitude)

    @property
    def loss_scale(self) -> float:
        """The standard deviation of the noise, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> int:
        """The horizon."""
        return horizon

    def draw(self, rng: np.random.Generator, state: int, t: int, num_rounds: int) -> FloatArray:
        """The means and fresh noise."""
        share = np.arange(t, t + num_rounds)[:, None] / state
        phases = self.swings * share**2 + np.arange(self.num_actions) / self.num_actions
        noise = rng.standard_normal((num_rounds, self.num_actions))
        return self.amplitude * np.sin(2 * np.pi * phases) + noise


@dataclass(frozen=True)
class LateNeedle(Stream):
    """Losses in {0, 1}, fair coins until one action becomes better late in the game.

    Args:
        num_actions: d.
        arrival: the share of the horizon after which the needle is there.
        gap: by how much it then errs less, at most 0.5.

    Raises:
        ValueError: if `num_actions` is below 1, `arrival` not in [0, 1] or `gap` not in [0, 0.5].
    """

    num_actions: int = 3
    _: KW_ONLY
    arrival: float = 0.6
    gap: float = 0.4

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        check_probabilities(0.5, self.gap)
        if not 0 <= self.arrival <= 1:
            raise ValueError(f"arrival must be a share of the horizon, got {self.arrival!r}")

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> tuple[int, int]:
        """The needle, and the rounds before it is one."""
        return int(rng.integers(self.num_actions)), int(self.arrival * horizon)

    def draw(self, rng: np.random.Generator, state: tuple[int, int], t: int, num_rounds: int) -> FloatArray:
        """Fresh errors."""
        needle, first = state
        means = np.full((num_rounds, self.num_actions), 0.5)
        means[max(first - t, 0) :, needle] -= self.gap
        return (rng.random(means.shape) < means).astype(np.float64)


@dataclass(frozen=True)
class Duplicated(Stream):
    """Gaussian losses of which most actions are exact copies of another.

    Half of the actions, rounded up, copy the first one, so that a sum over actions counts it many times; the
    others have losses of their own. The means are drawn once a run.

    Args:
        num_actions: d.
        mean_scale: standard deviation of the means; that of the noise is 1.

    Raises:
        ValueError: if `num_actions` is below 1 or the scale is negative or not finite.
    """

    num_actions: int = 3
    _: KW_ONLY
    mean_scale: float = 0.1

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        non_negative("mean_scale", self.mean_scale)

    @property
    def loss_scale(self) -> float:
        """The standard deviation of the noise, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> FloatArray:
        """The means, shape (num_actions,)."""
        return self.mean_scale * rng.standard_normal(self.num_actions)

    def draw(self, rng: np.random.Generator, state: FloatArray, t: int, num_rounds: int) -> FloatArray:
        """Fresh noise, and the copies."""
        losses = state + rng.standard_normal((num_rounds, self.num_actions))
        losses[:, 1 : (self.num_actions + 1) // 2] = losses[:, :1]
        return losses


@dataclass(frozen=True)
class OneTerrible(Stream):
    """Losses in {0, 1}, one action a little better than the rest, and one that always loses far more.

    Args:
        num_actions: d, at least 3.
        gap: by how much the best one errs less than 0.5.
        terrible: the loss of the terrible action in every round.

    Raises:
        ValueError: if `num_actions` is below 3, `gap` not in [0, 0.5] or `terrible` negative.
    """

    num_actions: int = 3
    _: KW_ONLY
    gap: float = 0.15
    terrible: float = 20.0

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 3)
        check_probabilities(0.5, self.gap)
        non_negative("terrible", self.terrible)

    @property
    def loss_scale(self) -> float:
        """The range."""
        return max(1.0, self.terrible)

    def loss_bounds(self, player: int) -> Bounds:
        """From 0 to the worst of 1 and the terrible action's loss."""
        return 0.0, max(1.0, self.terrible)

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> tuple[Any, Any]:
        """The best and the terrible action."""
        best, terrible = rng.choice(self.num_actions, 2, replace=False)
        return best, terrible

    def draw(self, rng: np.random.Generator, state: tuple[Any, Any], t: int, num_rounds: int) -> FloatArray:
        """Fresh errors."""
        best, terrible = state
        means = np.full((num_rounds, self.num_actions), 0.5)
        means[:, best] -= self.gap
        losses = (rng.random(means.shape) < means).astype(np.float64)
        losses[:, terrible] = self.terrible
        return losses
