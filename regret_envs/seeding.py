"""The generators of many runs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISpawnableSeedSequence, SeedSequence

from regret_envs.validation import at_least

# The constants of numpy's SeedSequence, which follows O'Neill, "Developing a seed_seq alternative", 2015.
_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED
_MIX_L, _MIX_R = 0xCA01F9DD, 0x4973F715
_MASK, _SHIFT = 0xFFFFFFFF, np.uint32(16)

Words = npt.NDArray[np.uint32]

_FEW_RUNS = 4


def generators(seed: int, key: Sequence[int], runs: range) -> list[np.random.Generator]:
    """One generator per run, bit for bit that of `SeedSequence(seed, spawn_key=(*key, run))`.

    Hashing all runs in one array takes a seventh of the time, which is most of what starting a batch costs.

    Args:
        seed: not negative.
        key: numbers below 2³².
        runs: numbers, not negative.
    """
    # One by one a few runs are faster; and numbers from 2³² on are two words.
    if len(runs) <= _FEW_RUNS or runs.stop > 1 << 32:
        return [_generator(seed, (*key, run)) for run in runs]
    # All runs share what is hashed before their own number, four hashes a word.
    pool = SeedSequence(seed, spawn_key=tuple(key)).pool
    num_words = max(4, -(-seed.bit_length() // 32)) + len(key)
    numbers = np.arange(runs.start, runs.stop, dtype=np.uint32)
    constant = _INIT_A * pow(_MULT_A, 4 * num_words, 1 << 32) & _MASK
    mixed = []
    for word in pool:
        hashed, constant = _hash(numbers, constant, _MULT_A)
        mix = np.uint32(_MIX_L * int(word) & _MASK) - np.uint32(_MIX_R) * hashed
        mixed.append(mix ^ (mix >> _SHIFT))
    state = np.empty((len(numbers), 8), dtype=np.uint32)
    constant = _INIT_B
    for i in range(8):
        state[:, i], constant = _hash(mixed[i % 4], constant, _MULT_B)
    seeds: list[Any] = [
        _RunSeed(seed, (*key, run), words)
        for run, words in zip(runs, state.astype("<u4").view("<u8"), strict=True)
    ]
    return [np.random.Generator(np.random.PCG64(run_seed)) for run_seed in seeds]


def _hash(words: Words, constant: int, multiplier: int) -> tuple[Words, int]:
    """The hashed words and the next constant."""
    following = constant * multiplier & _MASK
    words = (words ^ np.uint32(constant)) * np.uint32(following)
    return words ^ (words >> _SHIFT), following


class _RunSeed(ISpawnableSeedSequence):
    """A seed sequence whose first state is known; everything else is delegated to NumPy's."""

    def __init__(self, seed: int, key: tuple[int, ...], state: npt.NDArray[np.uint64]) -> None:
        self._seed = seed
        self._key = key
        self._state = state
        self._sequence: SeedSequence | None = None

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """As `SeedSequence.generate_state`."""
        if dtype is np.uint64 and n_words == len(self._state):
            return self._state
        return self._full().generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> list[Any]:
        """As `SeedSequence.spawn`."""
        return self._full().spawn(n_children)

    def _full(self) -> SeedSequence:
        if self._sequence is None:
            self._sequence = SeedSequence(self._seed, spawn_key=self._key)
        return self._sequence


_WORLD, _AGENT, _STARTING_LOSS, _FEEDBACK = range(4)


@dataclass(frozen=True)
class RunSeeds:
    """The random generators of runs `first_run … first_run + num_runs - 1` of a seed.

    The generator of a run depends on the seed and the run's number alone, so run r faces the same
    losses in a batch of one and in a batch of a thousand.

    Raises:
        TypeError: if a number is not an integer (NumPy's are).
        ValueError: if one is negative.
    """

    seed: int
    num_runs: int
    first_run: int = 0

    def __post_init__(self) -> None:
        for name, minimum in (("seed", 0), ("num_runs", 0), ("first_run", 0)):
            object.__setattr__(self, name, at_least(name, getattr(self, name), minimum))

    @property
    def runs(self) -> range:
        """The runs' numbers."""
        return range(self.first_run, self.first_run + self.num_runs)

    def world(self) -> list[np.random.Generator]:
        """One generator per run, for the world's own randomness."""
        return generators(self.seed, (_WORLD,), self.runs)

    def starting_losses(self, player: int) -> list[np.random.Generator]:
        """One generator per run, for the losses that `player` is shown before round 1."""
        return generators(self.seed, (_STARTING_LOSS, player), self.runs)

    def agent(self, player: int) -> np.random.Generator:
        """The generator handed to the agent of seat `player` (one for the whole batch)."""
        return self._generator(_AGENT, player, self.first_run)

    def feedback(self, player: int, layer: int) -> list[np.random.Generator]:
        """One generator per run, for a layer between the world and the agent of seat `player`."""
        return generators(self.seed, (_FEEDBACK, player, layer), self.runs)

    def shared_feedback(self, player: int, layer: int) -> np.random.Generator:
        """The generator for what is the same in all runs of the seed."""
        return self._generator(_FEEDBACK, player, layer)

    def _generator(self, *key: int) -> np.random.Generator:
        return _generator(self.seed, key)


@dataclass(frozen=True)
class ListedSeeds(RunSeeds):
    """Runs that have a seed each: run r has the generators of run 0 of `seeds[r]`.

    What the runs share follows `seed`.

    Args:
        seeds: one per run, not negative.
    """

    seeds: tuple[int, ...] = ()

    def world(self) -> list[np.random.Generator]:
        """One generator per run, for the world's own randomness."""
        return [RunSeeds(seed, 1).world()[0] for seed in self.seeds]

    def starting_losses(self, player: int) -> list[np.random.Generator]:
        """One generator per run, for the losses that `player` is shown before round 1."""
        return [RunSeeds(seed, 1).starting_losses(player)[0] for seed in self.seeds]

    def feedback(self, player: int, layer: int) -> list[np.random.Generator]:
        """One generator per run, for a layer between the world and the agent of seat `player`."""
        return [RunSeeds(seed, 1).feedback(player, layer)[0] for seed in self.seeds]


def _generator(seed: int, key: tuple[int, ...]) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(SeedSequence(seed, spawn_key=key)))
