"""Worlds that policies are trained on and never judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.seeding import RunSeeds
from regret_envs.worlds import Episode, Stream, World


@dataclass(frozen=True)
class _Law(Stream):
    num_actions: int = 3
    _: KW_ONLY

    @property
    def loss_scale(self) -> float:
        """About the standard deviation of a loss."""
        return 1.0

    def _losses(self, rng: np.random.Generator, horizon: int) -> FloatArray:
        raise NotImplementedError

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> FloatArray:
        """All the losses of the run, shape (horizon, num_actions)."""
        return self._losses(rng, horizon)

    def draw(self, rng: np.random.Generator, state: FloatArray, t: int, num_rounds: int) -> FloatArray:
        """The next of them."""
        return state[t : t + num_rounds]


@dataclass(frozen=True)
class Factors(_Law):
    """Losses with a common factor and heavy tails: ℓ_t(a) = β_a f_t + s_a x_t(a) + drift_a.

    Args:
        share: the standard deviation of the factor; that of the rest is 1.
        spread: how far the loadings β_a and the scales s_a are spread.
        degrees: of the Student t law of both.
        reversal: autoregression of the rest, x_t = reversal · x_{t−1} + noise.
        drift: standard deviation of the actions' constant means.
    """

    share: float = 1.0
    spread: float = 0.3
    degrees: float = 4.0
    reversal: float = 0.0
    drift: float = 0.03

    def _losses(self, rng: np.random.Generator, horizon: int) -> FloatArray:
        d = self.num_actions
        factor = self.share * rng.standard_t(self.degrees, (horizon, 1))
        rest = _autoregressive(rng.standard_t(self.degrees, (horizon, d)), self.reversal)
        loadings = 1 + self.spread * rng.standard_normal(d)
        scales = np.exp(self.spread * rng.standard_normal(d))
        return factor * loadings + scales * rest + self.drift * rng.standard_normal(d)


@dataclass(frozen=True)
class Autoregressive(_Law):
    """Gaussian losses with memory, ℓ_t = φ ℓ_{t−lag} + noise, and a constant mean of every action.

    Args:
        persistence: φ.
        lag: how many rounds back.
        drift: standard deviation of the actions' constant means.
    """

    persistence: float = 0.5
    lag: int = 1
    drift: float = 0.1

    def _losses(self, rng: np.random.Generator, horizon: int) -> FloatArray:
        noise = rng.standard_normal((horizon, self.num_actions))
        for t in range(self.lag, horizon):
            noise[t] += self.persistence * noise[t - self.lag]
        return noise + self.drift * rng.standard_normal(self.num_actions)


@dataclass(frozen=True)
class Repeating(_Law):
    """A random pattern of `period` rounds over and over, with noise.

    Args:
        period: rounds of the pattern.
        noise: standard deviation of the noise; that of the pattern is 1.
    """

    period: int = 4
    noise: float = 0.5

    def _losses(self, rng: np.random.Generator, horizon: int) -> FloatArray:
        pattern = rng.standard_normal((self.period, self.num_actions))
        rows = (np.arange(horizon) + rng.integers(self.period)) % self.period
        return pattern[rows] + self.noise * rng.standard_normal((horizon, self.num_actions))


@dataclass(frozen=True)
class Jumps(_Law):
    """Gaussian losses whose means are drawn anew at random times, all at once or one by one.

    Args:
        hazard: probability of a jump in a round.
        together: whether all means jump at once.
        gap: standard deviation of the means; that of the noise is 1.
    """

    hazard: float = 0.02
    together: bool = True
    gap: float = 0.5

    def _losses(self, rng: np.random.Generator, horizon: int) -> FloatArray:
        d = self.num_actions
        jumps = rng.random((horizon, 1 if self.together else d)) < self.hazard
        jumps[0] = True
        which = np.broadcast_to(np.cumsum(jumps, 0), (horizon, d)) - 1
        means = self.gap * rng.standard_normal((which.max() + 1, d))
        return np.take_along_axis(means, which, 0) + rng.standard_normal((horizon, d))


@dataclass(frozen=True)
class Uneven(_Law):
    """Gaussian losses of actions that differ in mean and in scale.

    Args:
        spread: standard deviation of the scales' logarithms.
        drift: standard deviation of the means.
    """

    spread: float = 0.7
    drift: float = 0.2

    def _losses(self, rng: np.random.Generator, horizon: int) -> FloatArray:
        scales = np.exp(self.spread * rng.standard_normal(self.num_actions))
        noise = scales * rng.standard_normal((horizon, self.num_actions))
        return noise + self.drift * rng.standard_normal(self.num_actions)


def _autoregressive(noise: FloatArray, coefficient: float) -> FloatArray:
    if coefficient:
        for t in range(1, len(noise)):
            noise[t] += coefficient * noise[t - 1]
    return noise


@dataclass(frozen=True)
class RandomizedAdversary(World):
    """Sees the policy and picks, of a few random losses, those that raise a potential of regrets most.

    Φ = Σ_a exp(λ R_a), λ = intensity · sqrt(2 ln d / T).

    Args:
        num_actions: d.
        candidates: how many losses it looks at; some of them punish the likeliest actions.
        intensity: of the potential, 1 for that of Hedge's analysis.
        signs: whether losses are −1 or 1; else Gaussian of length √d.
    """

    num_actions: int = 3
    _: KW_ONLY
    candidates: int = 4
    intensity: float = 1.0
    signs: bool = True

    @property
    def loss_scale(self) -> float:
        """Of signs the range."""
        return 2.0 if self.signs else 1.0

    def seats(self, num_agents: int) -> tuple[int, ...]:
        """One agent."""
        return (self.num_actions,)

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> _RandomizedEpisode:
        """Begin an episode."""
        return _RandomizedEpisode(self, horizon, seeds)


class _RandomizedEpisode(Episode):
    answers_actions = False

    def __init__(self, world: RandomizedAdversary, horizon: int, seeds: RunSeeds) -> None:
        self._world = world
        self._rng = seeds.world()[0]
        self._rate = world.intensity * np.sqrt(2 * np.log(max(world.num_actions, 2)) / horizon)
        self._regrets = np.zeros((world.num_actions, seeds.num_runs))

    def step(self, policies: Sequence[FloatArray]) -> list[FloatArray]:
        policy = policies[0].T
        d, runs = policy.shape
        offered = self._rng.standard_normal((self._world.candidates, d, runs))
        offered[0] += 3 * np.sign(policy - 1 / d)
        if self._world.signs:
            offered = np.where(offered > 0, 1.0, -1.0)
        else:
            offered *= np.sqrt(d / (offered**2).sum(1, keepdims=True))
        gains = (policy * offered).sum(1, keepdims=True) - offered
        exponents = self._rate * (self._regrets + gains)
        potential = np.logaddexp.reduce(exponents, axis=1)
        best = potential.argmax(0)
        take: Any = (best, slice(None), np.arange(runs))
        self._regrets += gains[take].T
        return [offered[take]]
