"""What an agent is shown: layers between the world and the agent.

Without a layer an agent is shown the losses of all actions at the end of every round (full
information). Layers compose in the order in which the losses pass them: `[Bandit(), Delayed(5)]`
is delayed bandit feedback, `[Noisy(), Bandit()]` adds noise to the loss that is seen and
`[Bandit(), Noisy()]` to the estimates. Metrics always see the world's true losses.

Inside, arrays are (num_actions, num_runs).
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.feedback.channels import Channel, Feedback, Place, told_range, within_unit
from regret_envs.names import make_named
from regret_envs.validation import at_least, non_negative
from regret_envs.worlds import Bounds


class _Draws:
    """Random arrays round by round: every run draws a block of rounds from its own generator."""

    def __init__(
        self, rngs: list[np.random.Generator], draw: Callable[[np.random.Generator], FloatArray]
    ) -> None:
        self._rngs = rngs
        self._draw = draw
        self._block = np.empty((0, len(rngs)))
        self._next = 0

    def next(self) -> FloatArray:
        """The round's draws, the runs along the last axis."""
        if self._next == len(self._block):
            self._block = np.stack([self._draw(rng) for rng in self._rngs], axis=-1)
            self._next = 0
        self._next += 1
        return self._block[self._next - 1]


_BLOCK_ROUNDS = 128
_FEW_ACTIONS = 8


def _uniforms(rng: np.random.Generator) -> FloatArray:
    return rng.random(_BLOCK_ROUNDS)


@dataclass(frozen=True)
class Bandit(Feedback):
    """Only the loss of an action drawn from the policy is seen; the agent is shown an estimate.

    A_t ~ π_t and ℓ̂_t(a) = 1[a = A_t] (ℓ_t(a) − loss_offset) / (π_t(a) + implicit_exploration).

    With `implicit_exploration` γ = 0 the estimate is unbiased up to the offset (Auer, Cesa-Bianchi,
    Freund and Schapire 2002), so Exp3 is Hedge behind this layer; γ > 0 trades bias for variance
    ("IX", Kocák, Neu, Valko and Munos 2014; Neu 2015) and requires losses above `loss_offset`.

    An agent with the attribute `takes_drawn_losses` is shown the drawn action's loss itself, and NaN for the
    others: a policy that was trained on what the environments show.

    Args:
        implicit_exploration: γ ≥ 0. None: the agent's attribute of that name (Exp3-IX has one), else 0.
        loss_offset: subtracted from the observed loss: the least possible loss. None: the least loss at the
            seat where the world knows it, and 0 where it does not or losses lie in [0, 1].

    Raises:
        ValueError: if γ is negative or a number is not finite.
    """

    _: KW_ONLY
    implicit_exploration: float | None = None
    loss_offset: float | None = None

    draws_actions = True
    hides_losses = True

    def __post_init__(self) -> None:
        if self.implicit_exploration is not None:
            non_negative("implicit_exploration", self.implicit_exploration)
        if self.loss_offset is not None and not np.isfinite(self.loss_offset):
            raise ValueError(f"loss_offset must be finite, got {self.loss_offset!r}")

    def offset(self, bounds: Bounds | None) -> float:
        """What is subtracted in a world whose losses lie within `bounds`."""
        if self.loss_offset is not None:
            return self.loss_offset
        return 0.0 if bounds is None or within_unit(bounds) else bounds[0]

    def start(self, num_actions: int, place: Place) -> Channel:
        """Begin an episode; every run draws its actions from a generator of its own."""
        return _BanditChannel(self, num_actions, place)


@dataclass(frozen=True)
class Pure(Feedback):
    """An action drawn from the policy is played; the losses of all actions are shown.

    In a game they are the losses against the others' drawn actions, which are those that `Bandit` draws.
    """

    draws_actions = True

    def start(self, num_actions: int, place: Place) -> Channel:
        """Begin an episode; every run draws its actions from a generator of its own."""
        return _PureChannel(num_actions, place)


class _PureChannel(Channel):
    def __init__(self, num_actions: int, place: Place) -> None:
        self._units = np.eye(num_actions) if num_actions <= _FEW_ACTIONS else None
        rngs = place.runs()
        self._uniforms = _Draws(rngs, _uniforms)
        self._runs = np.arange(len(rngs))

    def _draw(self, policies: FloatArray) -> IntArray:
        # Against rounding: the last partial sum is what the uniform number is scaled to.
        uniforms = self._uniforms.next()
        if len(policies) > _FEW_ACTIONS or len(self._runs) < 256:
            cumulative = policies.cumsum(0)
            drawn: IntArray = (uniforms * cumulative[-1] >= cumulative).sum(0)
            return drawn
        # The same numbers: over few actions of many runs, NumPy's own sums take four times as long.
        sums = list(itertools.accumulate(policies))
        scaled = uniforms * sums[-1]
        return sum((scaled >= partial for partial in sums), np.zeros(len(self._runs), np.int64))

    def _unit_vectors(self, drawn: IntArray, policies: FloatArray) -> FloatArray:
        if self._units is not None:
            return self._units.take(drawn, 1)
        actions = np.zeros_like(policies)
        actions[drawn, self._runs] = 1.0
        return actions

    def play(self, policies: FloatArray) -> FloatArray:
        return self._unit_vectors(self._draw(policies), policies)

    def show(self, losses: FloatArray) -> Sequence[FloatArray]:
        return [losses]


class _BanditChannel(_PureChannel):
    def __init__(self, layer: Bandit, num_actions: int, place: Place) -> None:
        super().__init__(num_actions, place)
        self._layer = layer
        self.loss_offset = layer.offset(place.bounds)
        self.loss_range = told_range(place.bounds, layer.loss_offset)
        self._agent = place.agent
        # Drawn actions and their probabilities, of rounds whose losses have not come yet.
        self._drawn: deque[tuple[IntArray, FloatArray]] = deque()

    def play(self, policies: FloatArray) -> FloatArray:
        drawn = self._draw(policies)
        self._drawn.append((drawn, policies[drawn, self._runs]))
        return self._unit_vectors(drawn, policies)

    def show(self, losses: FloatArray) -> Sequence[FloatArray]:
        drawn, probability = self._drawn.popleft()
        if getattr(self._agent, "takes_drawn_losses", False):
            shown = np.full_like(losses, np.nan)
            shown[drawn, self._runs] = losses[drawn, self._runs]
            return [shown]
        gamma = self._layer.implicit_exploration
        if gamma is None:
            gamma = getattr(self._agent, "implicit_exploration", 0.0)
        estimate = np.zeros_like(losses)
        seen = losses[drawn, self._runs] - self.loss_offset
        estimate[drawn, self._runs] = seen / (probability + gamma)
        return [estimate]


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
        self._normals = _Draws(rngs, partial(_normals, num_actions))

    def show(self, losses: FloatArray) -> Sequence[FloatArray]:
        return [losses + self._scale * self._normals.next()]


def _normals(num_actions: int, rng: np.random.Generator) -> FloatArray:
    # Shape (rounds, num_actions): fewer rounds at a time with many actions, to bound the memory.
    return rng.standard_normal((max(_BLOCK_ROUNDS // num_actions, 1), num_actions))


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
