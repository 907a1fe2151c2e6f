"""What every world is: something that answers the agents' policies with losses.

A `World` is an immutable description. `World.start` returns an `Episode`, which holds the
state of `num_runs` independent runs and is the only place where the dynamics live: `simulate`
and the reinforcement-learning environments step the same object.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_WORLD, _AGENT, _STARTING_LOSS, _FEEDBACK = range(4)


@dataclass(frozen=True)
class RunSeeds:
    """The random generators of runs `first_run … first_run + num_runs - 1` of a seed.

    The generator of a run depends on the seed and the run's number alone, so run r faces the same
    losses in a batch of one and in a batch of a thousand.
    """

    seed: int
    num_runs: int
    first_run: int = 0

    @property
    def runs(self) -> range:
        """The runs' numbers."""
        return range(self.first_run, self.first_run + self.num_runs)

    def world(self) -> list[np.random.Generator]:
        """One generator a run, for the world's own randomness."""
        return [self._generator(_WORLD, run) for run in self.runs]

    def starting_losses(self, player: int) -> list[np.random.Generator]:
        """One generator a run, for the losses that `player` is shown before round 1."""
        return [self._generator(_STARTING_LOSS, player, run) for run in self.runs]

    def agent(self, player: int) -> np.random.Generator:
        """The generator handed to the agent of seat `player` (one for the whole batch)."""
        return self._generator(_AGENT, player, self.first_run)

    def feedback(self, player: int) -> list[np.random.Generator]:
        """One generator a run, for what lies between the world and the agent of seat `player`."""
        return [self._generator(_FEEDBACK, player, run) for run in self.runs]

    def _generator(self, *key: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key)))


class Episode(ABC):
    """The state of `num_runs` runs of a world. Picklable."""

    @abstractmethod
    def step(self, policies: Sequence[FloatArray]) -> Sequence[FloatArray]:
        """Play one round.

        Args:
            policies: one array of shape (num_runs, num_actions of the player) a player, rows on
                the simplex.

        Returns:
            The losses of every action, arrays of the same shapes. They may be views that the next
            call overwrites.
        """


class World(ABC):
    """A description of losses: a stream that one or more agents face, or a game between them."""

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


def at_least(name: str, value: int, minimum: int) -> int:
    """Return `value` as an int, or say that it is below `minimum`.

    Raises:
        TypeError: if `value` is not an integer.
        ValueError: if it is below `minimum`.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def non_negative(name: str, value: float) -> float:
    """Return `value` as a float, or say that it is negative or not finite.

    Raises:
        ValueError: if `value` is negative or not finite.
    """
    if not np.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")
    return float(value)
