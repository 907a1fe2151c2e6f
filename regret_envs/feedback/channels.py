"""What a layer of feedback is: a description, and one channel per seat through which the losses pass.

The layers themselves are in `regret_envs.feedback`. Inside, arrays are (num_actions, num_runs).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.seeding import RunSeeds
from regret_envs.worlds import Bounds


class Channel(ABC):
    """The state of a layer at one seat, for `num_runs` runs. Picklable."""

    loss_offset: float = 0.0
    """What is subtracted from the losses that are passed on."""
    loss_range: float | None = None
    """The range that an agent is told which assumes one, None where it keeps its own."""

    @property
    def outstanding(self) -> int:
        """How many rounds' losses have not been passed on yet."""
        return 0

    def play(self, policies: FloatArray) -> FloatArray:
        """What is played when the agent's policies are `policies`, shape (num_actions, num_runs)."""
        return policies

    @abstractmethod
    def show(self, losses: FloatArray) -> Sequence[FloatArray]:
        """What arrives at the end of a round whose losses are `losses`, shape (num_actions, num_runs).

        Returns:
            Zero or more arrays of that shape, in the order of their rounds.
        """


class Feedback(ABC):
    """The description of a layer.

    Attributes:
        draws_actions: whether an action is drawn from the policy, so that play is realized.
        hides_losses: whether only the drawn action's loss is shown.
        delays: whether losses arrive later than in their round.
    """

    draws_actions = False
    hides_losses = False
    delays = False

    @abstractmethod
    def start(self, num_actions: int, place: Place) -> Channel:
        """Begin an episode at one seat; all randomness comes from `place`."""


@dataclass(frozen=True)
class Place:
    """Where a layer lies, and its random generators.

    Attributes:
        agent: the agent at the seat.
        seeds: the runs.
        player: the seat.
        layer: the layer's number, in the order in which the losses pass them.
        bounds: the least and the greatest loss of the world at the seat, or None.
    """

    agent: object
    seeds: RunSeeds
    player: int
    layer: int
    bounds: Bounds | None = None

    def runs(self) -> list[np.random.Generator]:
        """One generator per run."""
        return self.seeds.feedback(self.player, self.layer)

    def shared(self) -> np.random.Generator:
        """One generator for what is the same in all runs of a seed, whatever the batch."""
        return self.seeds.shared_feedback(self.player, self.layer)


Takes = Literal["any", "full", "bandit"]
"""What an agent takes: losses or estimates of them, only all losses, or only bandit feedback."""


AssumedLosses = Literal["any", "range", "interval"]
"""What an agent assumes of losses: nothing; max_a ℓ(a) − min_a ℓ(a) ≤ ρ in every round; or 0 ≤ ℓ(a) ≤ ρ."""


def within_unit(bounds: Bounds) -> bool:
    """Whether losses lie in [0, 1], for which agents are made that are told nothing else."""
    return bounds[0] >= 0.0 and bounds[1] <= 1.0


def told_range(bounds: Bounds | None, loss_offset: float | None) -> float | None:
    """ρ for an agent that assumes losses in [0, ρ], or None where it keeps its own.

    Args:
        bounds: the least and the greatest loss of the world.
        loss_offset: what the feedback subtracts from them, if that was given; None: it is set from the world.
    """
    if bounds is None or bounds[1] <= bounds[0]:
        return None
    if loss_offset is None:
        return None if within_unit(bounds) else bounds[1] - bounds[0]
    least, greatest = bounds[0] - loss_offset, bounds[1] - loss_offset
    return greatest if least >= 0 and greatest > 1 else None


def unfit(agent: object, layers: Sequence[Feedback]) -> str | None:
    """Why an agent cannot play behind `layers`, or None if it can; its attribute `takes` says so."""
    takes: Takes = getattr(agent, "takes", "any")
    hides = any(layer.hides_losses for layer in layers)
    if takes == "bandit" and not hides:
        return "needs bandit feedback, and is shown the losses of all actions here"
    if takes == "full" and hides:
        return (
            "needs the losses of all actions, and is shown only that of the drawn one here (bandit feedback)"
        )
    return None


def as_layers(feedback: object) -> list[Feedback]:
    """One layer or a sequence of layers as a list, checked to be compatible.

    Raises:
        TypeError: if an item is not a `Feedback`.
        ValueError: if two delay, or two draw actions.
    """
    given = [feedback] if isinstance(feedback, str) or not isinstance(feedback, Sequence) else feedback
    layers: list[Feedback] = []
    for layer in given:
        if not isinstance(layer, Feedback):
            raise TypeError(f"feedback must be layers such as regret_envs.feedback.Bandit(), got {layer!r}")
        layers.append(layer)
    for kind, what in (("delays", "delay losses"), ("draws_actions", "draw actions")):
        if sum(getattr(layer, kind) for layer in layers) > 1:
            raise ValueError(f"at most one layer of feedback may {what}, got {layers}")
    return layers


class Channels:
    """Layers in series at one seat. Picklable."""

    def __init__(
        self,
        layers: Sequence[Feedback],
        num_actions: int,
        *,
        agent: object,
        seeds: RunSeeds,
        player: int,
        bounds: Bounds | None = None,
    ) -> None:
        self._channels = [
            layer.start(num_actions, Place(agent, seeds, player, k, bounds)) for k, layer in enumerate(layers)
        ]
        self.loss_offset = sum(channel.loss_offset for channel in self._channels)
        ranges = [channel.loss_range for channel in self._channels if channel.loss_range is not None]
        self.loss_range = ranges[0] if ranges else None

    def play(self, policies: FloatArray) -> FloatArray:
        """What is played, passed through all layers."""
        for channel in self._channels:
            policies = channel.play(policies)
        return policies

    def show(self, losses: FloatArray) -> Sequence[FloatArray]:
        """What arrives at the agent, passed through all layers."""
        arrived: Sequence[FloatArray] = [losses]
        for channel in self._channels:
            arrived = [shown for loss in arrived for shown in channel.show(loss)]
        return arrived

    @property
    def outstanding(self) -> int:
        """How many rounds' losses the agent has not been shown yet."""
        return sum(channel.outstanding for channel in self._channels)
