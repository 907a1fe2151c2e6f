"""The layers that draw actions from the policies: bandit feedback and pure play.

Inside, arrays are (num_actions, num_runs).
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.feedback.channels import Channel, Feedback, Place, told_range, within_unit
from regret_envs.validation import non_negative
from regret_envs.worlds import Bounds


class Draws:
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


BLOCK_ROUNDS = 128
_FEW_ACTIONS = 8


def _uniforms(rng: np.random.Generator) -> FloatArray:
    return rng.random(BLOCK_ROUNDS)


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
        self._uniforms = Draws(rngs, _uniforms)
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
