"""What an agent is shown: layers between the world and the agent.

Without a layer an agent is shown the losses of all actions at the end of every round (full
information). Layers compose in the order in which the losses pass them: `[Bandit(), Delayed(5)]`
is delayed bandit feedback, `[Noisy(), Bandit()]` adds noise to the loss that is seen and
`[Bandit(), Noisy()]` to the estimates. Metrics always see the world's true losses.

Inside, arrays are (num_actions, num_runs).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.feedback.channels import Channel, Feedback, Place
from regret_envs.feedback.drawn import BLOCK_ROUNDS, Bandit, Draws, Pure
from regret_envs.names import make_named
from regret_envs.validation import at_least, non_negative


@dataclass(frozen=True)
class Delayed(Feedback):
    """The losses of round t arrive `delay` to `delay + jitter` rounds late, in order.

    The delay of every round is drawn uniformly, the same for all runs of a seed; a round that would
    overtake an earlier one waits for it. Weinberger and Ordentlich 2002; Joulani, György and
    Szepesvári 2013.

    Args:
        delay: rounds, at least 0 (no delay).
        jitter: rounds, at least 0.

    Raises:
        ValueError: if one is negative.
    """

    delay: int = 1
    _: KW_ONLY
    jitter: int = 0

    delays = True

    def __post_init__(self) -> None:
        at_least("delay", self.delay, 0)
        at_least("jitter", self.jitter, 0)

    def start(self, num_actions: int, place: Place) -> Channel:
        """Begin an episode."""
        return _DelayedChannel(self, place.shared())


class _DelayedChannel(Channel):
    def __init__(self, layer: Delayed, rng: np.random.Generator) -> None:
        self._layer = layer
        self._rng = rng
        self._t = 0
        self._waiting: deque[tuple[int, FloatArray]] = deque()

    def show(self, losses: FloatArray) -> Sequence[FloatArray]:
        self._t += 1
        due = self._t + self._layer.delay + int(self._rng.integers(self._layer.jitter + 1))
        self._waiting.append((due, losses.copy()))
        arrived = []
        while self._waiting and self._waiting[0][0] <= self._t:
            arrived.append(self._waiting.popleft()[1])
        return arrived

    @property
    def outstanding(self) -> int:
        return len(self._waiting)


@dataclass(frozen=True)
class Phased(Feedback):
    """Losses arrive together at the end of every phase of `length` rounds, in order.

    Raises:
        ValueError: if `length` is below 1.
    """

    length: int = 10

    delays = True

    def __post_init__(self) -> None:
        at_least("length", self.length, 1)

    def start(self, num_actions: int, place: Place) -> Channel:
        """Begin an episode."""
        return _PhasedChannel(self.length)


class _PhasedChannel(Channel):
    def __init__(self, length: int) -> None:
        self._length = length
        self._waiting: list[FloatArray] = []

    def show(self, losses: FloatArray) -> Sequence[FloatArray]:
        self._waiting.append(losses.copy())
        if len(self._waiting) < self._length:
            return []
        arrived, self._waiting = self._waiting, []
        return arrived

    @property
    def outstanding(self) -> int:
        return len(self._waiting)


@dataclass(frozen=True)
class Noisy(Feedback):
    """What is shown is ℓ_t + N(0, scale² I).

    Raises:
        ValueError: if the scale is negative or not finite.
    """

    scale: float = 0.1

    def __post_init__(self) -> None:
        non_negative("scale", self.scale)

    def start(self, num_actions: int, place: Place) -> Channel:
        """Begin an episode; every run's noise comes from a generator of its own."""
        return _NoisyChannel(self.scale, num_actions, place.runs())


class _NoisyChannel(Channel):
    def __init__(self, scale: float, num_actions: int, rngs: list[np.random.Generator]) -> None:
        self._scale = scale
        self._normals = Draws(rngs, partial(_normals, num_actions))

    def show(self, losses: FloatArray) -> Sequence[FloatArray]:
        return [losses + self._scale * self._normals.next()]


def _normals(num_actions: int, rng: np.random.Generator) -> FloatArray:
    # Shape (rounds, num_actions): fewer rounds at a time with many actions, to bound the memory.
    return rng.standard_normal((max(BLOCK_ROUNDS // num_actions, 1), num_actions))


@dataclass(frozen=True)
class Corrupted(Feedback):
    """An adversary makes the best action so far look worse, within a budget.

    While budget is left, the loss shown of the action with the least cumulative true loss is raised
    by `magnitude` (less in the last round that the budget pays for). The budget bounds
    C = Σ_t max_a |shown_t(a) − ℓ_t(a)| (Lykouris, Mirrokni and Paes Leme 2018).

    Raises:
        ValueError: if a number is negative or not finite.
    """

    budget: float = 10.0
    _: KW_ONLY
    magnitude: float = 1.0

    def __post_init__(self) -> None:
        non_negative("budget", self.budget)
        non_negative("magnitude", self.magnitude)

    def start(self, num_actions: int, place: Place) -> Channel:
        """Begin an episode, which is deterministic."""
        return _CorruptedChannel(self)


class _CorruptedChannel(Channel):
    def __init__(self, layer: Corrupted) -> None:
        self._left = layer.budget
        self._magnitude = layer.magnitude
        self._cumulative: FloatArray | float = 0.0

    def show(self, losses: FloatArray) -> Sequence[FloatArray]:
        spent = min(self._magnitude, self._left)
        self._left -= spent
        self._cumulative = self._cumulative + losses
        shown = losses.copy()
        shown[self._cumulative.argmin(0), np.arange(losses.shape[1])] += spent
        return [shown]


FEEDBACK: dict[str, type[Feedback]] = {
    "bandit": Bandit,
    "pure": Pure,
    "delayed": Delayed,
    "phased": Phased,
    "noisy": Noisy,
    "corrupted": Corrupted,
}


def make(name: str, **settings: Any) -> Feedback:
    """The named layer with its settings, e.g. `make("delayed", delay=5)`.

    Raises:
        UnknownNameError: if there is no such layer; lists the near matches.
        TypeError: if the layer has no such setting, or a setting that it needs is missing.
        ValueError: if a setting is out of its range.
    """
    return make_named("feedback", name, FEEDBACK, settings)
