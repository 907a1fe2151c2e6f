"""Worlds: they answer the agents' policies with losses.

A `World` is an immutable description. `World.start` returns an `Episode`, which holds the
state of `num_runs` independent runs and is the only place where the dynamics live: `simulate`
and the reinforcement-learning environments step the same object.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.seeding import RunSeeds


class Episode(ABC):
    """The state of `num_runs` runs of a world. Picklable.

    Attributes:
        answers_actions: where actions are drawn from the policies (bandit feedback), whether the
            world answers the drawn ones (a game does), or still the policies (an adversary).
    """

    answers_actions = True

    @abstractmethod
    def step(self, policies: Sequence[FloatArray]) -> Sequence[FloatArray]:
        """Play one round.

        Args:
            policies: one array of shape (num_runs, num_actions of the player) per player, rows on
                the simplex.

        Returns:
            The losses of every action, arrays of the same shapes. They may be views that the next
            call overwrites.
        """


Bounds = tuple[float, float]
"""The least and the greatest loss."""


class World(ABC):
    """The description of a world: a stream that one or more agents face, or a game between them."""

    def loss_bounds(self, player: int) -> Bounds | None:
        """The least and the greatest loss that a player can meet; None where there are none, or none known.

        Bandit feedback and agents that assume a range are set from it.
        """
        return None

    def default_seats(self) -> int:
        """The number of agents that play by default: 1, or all players of a game."""
        return 1

    @abstractmethod
    def seats(self, num_agents: int) -> tuple[int, ...]:
        """The number of actions of each of `num_agents` seats.

        Raises:
            ValueError: if the world does not seat that many agents.
        """

    @abstractmethod
    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> Episode:
        """Begin an episode.

        Args:
            num_agents: seats taken.
            horizon: rounds that will be played.
            seeds: the runs and their generators.

        Raises:
            ValueError: if the world cannot last `horizon` rounds or give that many runs.
        """


class GameEpisode(Episode):
    """Expected full-information play of a game: `step` keeps no state."""

    def step_stacked(self, policies: FloatArray) -> FloatArray:
        """`step` for players of equal numbers of actions, without a Python object per player.

        Args:
            policies: shape (num_actions, num_players, num_runs).

        Returns:
            The losses, of the same shape.
        """
        return np.stack([loss.T for loss in self.step([p.T for p in policies.swapaxes(0, 1)])], axis=1)


class Game(World):
    """A world whose losses depend on the play of all its players.

    Attributes:
        num_actions: the number of actions of each player.
        loss_scale: the range of a player's losses (the largest over players), or their standard
            deviation where they are unbounded.
        outcome_names: the names of what `outcomes` measures besides losses.
    """

    num_actions: tuple[int, ...]
    loss_scale: float
    outcome_names: tuple[str, ...] = ()

    @property
    def num_players(self) -> int:
        """The number of players."""
        return len(self.num_actions)

    def default_seats(self) -> int:
        """The number of players."""
        return self.num_players

    def seats(self, num_agents: int) -> tuple[int, ...]:
        """The number of actions of each player.

        Raises:
            ValueError: if `num_agents` is not the number of players.
        """
        if num_agents != self.num_players:
            raise ValueError(f"{self!r} has {self.num_players} players, got {num_agents} agents")
        return self.num_actions

    @abstractmethod
    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> GameEpisode:
        """Begin an episode."""

    def outcomes(self, policies: FloatArray) -> dict[str, FloatArray]:
        """The expected outcomes of product play, by the names in `outcome_names`.

        Args:
            policies: shape (max num_actions, num_players, num_runs), 0 beyond a player's actions.

        Returns:
            One array (num_runs,) per name.
        """
        return {}


class Stream(World):
    """Losses that are fixed before play. Any number of agents may face the same ones.

    A stream is written for one run (`start_run`, `draw`); the episode draws every run's losses from
    the run's own generator, a block of rounds at a time.

    Attributes:
        num_actions: d.
        bounds: the least and the greatest loss; None where there is no bound.
    """

    num_actions: int
    bounds: ClassVar[Bounds | None] = None

    def loss_bounds(self, player: int) -> Bounds | None:
        """As `bounds` says."""
        return self.bounds

    @property
    @abstractmethod
    def loss_scale(self) -> float:
        """The range of the losses, or their standard deviation where they are unbounded."""

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
        # O(num_runs) whatever the horizon, and a run's losses do not depend on the batch.
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
            raise ValueError(f"the stream was started for {self._horizon} rounds, and all are played")
        by_run = np.empty((len(self._rngs), rounds, self._stream.num_actions))
        for r, (rng, state) in enumerate(zip(self._rngs, self._states, strict=True)):
            losses = self._stream.draw(rng, state, self._t, rounds)
            if np.shape(losses) != by_run.shape[1:]:
                raise ValueError(
                    f"{self._stream!r} drew losses of shape {np.shape(losses)}: "
                    f"(num_rounds, num_actions) is {by_run.shape[1:]}"
                )
            by_run[r] = losses
        block = np.ascontiguousarray(by_run.transpose(1, 2, 0))
        block.flags.writeable = False
        self._block, self._next, self._t = block, 0, self._t + rounds
