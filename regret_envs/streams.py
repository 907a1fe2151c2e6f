"""Loss streams that do not react to play: experts problems.

A stream is written for one run (`start_run`, `draw`); the episode draws every run's losses from
the run's own generator, a block of rounds at a time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from regret_envs.worlds import Episode, FloatArray, RunSeeds, World, at_least, non_negative


class Stream(World):
    """Losses that are fixed before play. Any number of agents may face the same ones.

    Attributes:
        num_actions: d.
        loss_scale: the range of the losses, or their standard deviation where they are unbounded.
    """

    num_actions: int
    loss_scale: float

    def seats(self, num_agents: int) -> tuple[int, ...]:
        """Every agent has all the actions."""
        return (self.num_actions,) * num_agents

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> Any:
        """The state of a run before round 1 (picklable); what `draw` is handed back.

        Args:
            rng: the run's generator.
            run: the run's number.
            horizon: rounds that will be played.
        """
        return None

    @abstractmethod
    def draw(self, rng: np.random.Generator, state: Any, t: int, num_rounds: int) -> FloatArray:
        """The losses of rounds t + 1 … t + num_rounds of one run, shape (num_rounds, num_actions).

        What a round brings must not depend on how the rounds are divided into calls. The state may
        be changed in place.
        """

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> StreamEpisode:
        """Begin an episode in which `num_agents` agents face the same losses."""
        return StreamEpisode(self, num_agents, horizon, seeds)


_BLOCK_CELLS = 4096


class StreamEpisode(Episode):
    """Blocks of rounds of `num_runs` independent runs of a stream."""

    def __init__(self, stream: Stream, num_agents: int, horizon: int, seeds: RunSeeds) -> None:
        self._stream = stream
        self._num_agents = num_agents
        self._horizon = horizon
        self._rngs = seeds.world()
        self._states = [
            stream.start_run(rng, run=run, horizon=horizon)
            for rng, run in zip(self._rngs, seeds.runs, strict=True)
        ]
        self._t = 0
        # Rounds drawn in one call depend on the number of actions alone, so that memory stays
        # O(num_runs) whatever the horizon and a run's losses do not depend on the batch.
        self._block_rounds = min(max(_BLOCK_CELLS // stream.num_actions, 1), 256)
        self._block = np.empty((0, stream.num_actions, seeds.num_runs))
        self._next = 0

    def step(self, policies: Sequence[FloatArray]) -> list[FloatArray]:
        """The round's losses, the same read-only array for every agent."""
        if self._next == len(self._block):
            self._refill()
        losses = self._block[self._next].T
        self._next += 1
        return [losses] * self._num_agents

    def _refill(self) -> None:
        rounds = min(self._block_rounds, self._horizon - self._t)
        if rounds <= 0:
            raise ValueError(f"the stream was started for {self._horizon} rounds and they are over")
        block = np.empty((rounds, self._stream.num_actions, len(self._rngs)))
        for r, (rng, state) in enumerate(zip(self._rngs, self._states, strict=True)):
            block[:, :, r] = self._stream.draw(rng, state, self._t, rounds)
        block.flags.writeable = False
        self._block, self._next, self._t = block, 0, self._t + rounds


class Gaussian(Stream):
    """Independent losses ℓ_t ~ N(0, scale² I).

    Raises:
        ValueError: if `num_actions` is below 1 or the scale is negative or not finite.
    """

    def __init__(self, num_actions: int = 3, *, scale: float = 1.0) -> None:
        self.num_actions = at_least("num_actions", num_actions, 1)
        self.loss_scale = non_negative("scale", scale)

    def draw(self, rng: np.random.Generator, state: Any, t: int, num_rounds: int) -> FloatArray:
        """Independent of the state and of the round."""
        return self.loss_scale * rng.standard_normal((num_rounds, self.num_actions))


BiasLaw = Literal["gaussian", "uniform"]


class BiasedGaussian(Stream):
    """Losses ℓ_t = m + ε_t with a bias m drawn once a run and ε_t ~ N(0, noise_scale² I).

    Args:
        num_actions: d.
        bias_scale: standard deviation of every entry of m.
        bias_law: "gaussian", N(0, bias_scale²), or "uniform" with the same standard deviation.
        noise_scale: standard deviation of ε_t(a).

    Raises:
        ValueError: if `num_actions` is below 1, a scale is negative or not finite, or the law unknown.
    """

    def __init__(
        self,
        num_actions: int = 3,
        *,
        bias_scale: float = 0.35,
        bias_law: BiasLaw = "gaussian",
        noise_scale: float = 1.0,
    ) -> None:
        self.num_actions = at_least("num_actions", num_actions, 1)
        self.bias_scale = non_negative("bias_scale", bias_scale)
        self.noise_scale = non_negative("noise_scale", noise_scale)
        if bias_law not in ("gaussian", "uniform"):
            raise ValueError(f"bias_law must be 'gaussian' or 'uniform', got {bias_law!r}")
        self.bias_law = bias_law
        self.loss_scale = self.noise_scale

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> FloatArray:
        """The run's bias m, shape (num_actions,)."""
        if self.bias_law == "gaussian":
            return self.bias_scale * rng.standard_normal(self.num_actions)
        half_width = np.sqrt(3.0) * self.bias_scale
        return rng.uniform(-half_width, half_width, self.num_actions)

    def draw(self, rng: np.random.Generator, state: Any, t: int, num_rounds: int) -> FloatArray:
        """The bias and fresh noise."""
        return state + self.noise_scale * rng.standard_normal((num_rounds, self.num_actions))
