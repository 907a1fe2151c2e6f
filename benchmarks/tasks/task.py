"""What a task is: a world, what lies between it and the agents, how long it is played, what is measured.

A task that changes what its results mean gets a higher `version`: results of different versions
are never put together.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import msgspec

from regret_envs import Play, feedback, games, streams
from regret_envs.arrays import FloatArray
from regret_envs.feedback import Feedback
from regret_envs.names import lookup
from regret_envs.worlds import World

METRICS: dict[str, Callable[[Play], FloatArray]] = {
    "external_regret": lambda play: play.regret("external").max(0),
    "swap_regret": lambda play: play.regret("swap").max(0),
    "cce_gap": lambda play: play.gaps().cce.max,
    "ce_gap": lambda play: play.gaps().ce.max,
    "swap_gap": lambda play: play.gaps().swap.max,
    "nash_conv": lambda play: play.nash_conv(),
    "realized_regret": lambda play: _realized(play).regret("external").max(0),
    "realized_swap_regret": lambda play: _realized(play).regret("swap").max(0),
    "realized_cce_gap": lambda play: _realized(play).gaps().cce.max,
    "realized_ce_gap": lambda play: _realized(play).gaps().ce.max,
    "tracking_regret_4": lambda play: play.tracking_regret(min(4, play.t - 1)).max(0),
    "tracking_regret_9": lambda play: play.tracking_regret(min(9, play.t - 1)).max(0),
    "adaptive_regret": lambda play: play.adaptive_regret().max(0),
    "extraction": lambda play: play.extraction(),
    "follower_regret": lambda play: play.regret("external")[1],
    "follower_swap_regret": lambda play: play.regret("swap")[1],
    "social_cost": lambda play: play.social_cost(),
    "potential": lambda play: play.outcomes["potential"],
    "revenue": lambda play: play.outcomes["revenue"],
    "efficiency": lambda play: play.outcomes["efficiency"],
    "contribution": lambda play: play.outcomes["contribution"],
}
"""What can be measured, one number a run: in games the maximum over players, of NashConv the sum.

Realized: of the drawn actions, under bandit feedback. Tracking: against the best sequence with at most so
many switches. Adaptive: over the worst interval. Extraction: what the optimiser in seat 0 gets a round
above its Stackelberg value; the follower is the agent in seat 1.
"""

OUTCOME_METRICS = frozenset({"potential", "revenue", "efficiency", "contribution"})
"""The metrics that are outcomes of a game (`Game.outcome_names`), expected and averaged over the rounds."""

RECORDED_METRICS = frozenset({"tracking_regret_4", "tracking_regret_9", "adaptive_regret"})
"""The metrics that need every round's policies and losses."""


def _realized(play: Play) -> Play:
    if play.realized is None:
        raise ValueError(
            "a realized metric needs drawn actions: a task whose feedback has the layer 'bandit'"
        )
    return play.realized


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A layer of feedback: a name and settings as in `feedback.make`."""

    name: str
    settings: dict[str, Any] = {}


STREAM_METRICS = ("external_regret", "swap_regret")
GAME_METRICS = ("cce_gap", "ce_gap", "swap_gap", "nash_conv", "external_regret", "swap_regret")


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A world, how long it is played, and what is measured.

    In a game the pairing is self-play: an agent of its own, made from the same spec, in every seat; or
    the agent plays against an optimiser.

    Attributes:
        id: the name.
        version: raised when results are not comparable any more.
        world: "streams.NAME" or "games.NAME", names as in `streams.make` and `games.make`, or the
            "module:Class" of a world of one's own.
        settings: the world's settings.
        horizon: rounds, T.
        metrics: what is measured, the main one first; names as in `METRICS`.
        loss_scale: the range of the losses, or the standard deviation of Gaussian ones.
        feedback: the layers between the world and the agents; none: full information.
        optimiser: whether seat 0 of a game of two players is an optimiser, which knows the agent in seat 1
            and plays the best plan of two phases against it (`agents.stackelberg_leader.best_plan`).
        starting_loss_scale: s; every player and run is shown losses N(0, s² I) before round 1.
        num_runs: the number of runs where the task itself fixes it (recorded data, a deterministic
            world); its seed is then 0.
        summary: one line for lists.
    """

    id: str
    version: int = 1
    world: str
    settings: dict[str, Any] = {}
    horizon: int
    metrics: tuple[str, ...]
    loss_scale: float
    feedback: tuple[Layer, ...] = ()
    optimiser: bool = False
    starting_loss_scale: float = 0.0
    num_runs: int | None = None
    summary: str


def make_world(task: Task) -> World:
    """The world of a task.

    Raises:
        ValueError: if there is no such world (lists the near matches) or its settings are wrong.
        TypeError: if it has no such setting, or what is named makes no world.
        ImportError: if a custom world cannot be imported.
    """
    module, colon, attribute = task.world.partition(":")
    if colon:
        world = getattr(importlib.import_module(module), attribute)(**task.settings)
        if not isinstance(world, World):
            raise TypeError(f"{task.world} made {world!r}, which is no regret_envs.worlds.World")
        return world
    kind, _, name = task.world.partition(".")
    make = lookup("kind of world", kind, {"streams": streams.make, "games": games.make})
    return make(name, **task.settings)


def make_feedback(task: Task) -> list[Feedback]:
    """The layers of a task's feedback.

    Raises:
        ValueError: if there is no such layer (lists the near matches), a setting is out of its range or
            layers exclude each other.
        TypeError: if a layer has no such setting.
    """
    layers = [feedback.make(layer.name, **layer.settings) for layer in task.feedback]
    return feedback.as_layers(layers)
