"""Tasks as data: a world, the feedback layers, who sits in it, how long it is played, what is measured.

A change to a task that changes what its results mean raises its `version`: results of different versions
are never combined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from regret_envs import feedback, games, metrics, streams
from regret_envs.agents import identity
from regret_envs.feedback import Feedback
from regret_envs.names import lookup
from regret_envs.plugins import maker
from regret_envs.worlds import World


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A layer of feedback: a name and settings as in `feedback.make`."""

    name: str
    settings: dict[str, Any] = {}


STREAM_METRICS = ("external_regret", "swap_regret")
GAME_METRICS = ("cce_gap", "ce_gap", "swap_gap", "nash_conv", "external_regret", "swap_regret")


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A world, how long it is played, and what is measured.

    In a game without opponents the ranked agent plays itself: every seat has an agent of its own, made from
    the same spec.

    Attributes:
        id: the name.
        version: raised when results are not comparable any more.
        world: "streams.NAME" or "games.NAME", names as in `streams.make` and `games.make`, or the
            "module:Class" of a custom world.
        settings: the world's settings.
        horizon: rounds, T.
        metrics: what is measured, the main one first; names as in `regret_envs.metrics.METRICS`.
        loss_scale: the range of the losses, or the standard deviation of Gaussian ones.
        feedback: the layers between the world and the agents; empty: full information.
        opponents: specs of the agents in the other seats of a game, in the order of the seats, or one spec
            for all of them; empty: self-play. `{agent}` in a spec stands for the ranked agent's spec, for
            opponents that know whom they play: `stackelberg-leader[follower={agent}]`.
        seat: the ranked agent's seat among its opponents. Metrics of a player (regrets, payoff) are those of
            this seat; in self-play they are the worst over all seats.
        rounds: the rounds after which play is measured; empty: logarithmically spaced ones.
        starting_loss_scale: s; every player and run is shown losses N(0, s² I) before round 1.
        num_runs: the number of runs, if the task fixes it (recorded data, a deterministic world); the seed
            is then 0.
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
    opponents: tuple[str, ...] = ()
    seat: int = 0
    rounds: tuple[int, ...] = ()
    starting_loss_scale: float = 0.0
    num_runs: int | None = None
    summary: str


def rounds_of(task: Task) -> list[int]:
    """The rounds after which the task is measured, the horizon among them where the task names none."""
    return list(task.rounds) or metrics.log_spaced_rounds(task.horizon)


def find_maker(world: str) -> Callable[..., Any]:
    """What makes the world of that name: "streams.NAME", "games.NAME" or "module:attribute".

    Raises:
        UnknownNameError: if there is no such name; lists the near matches.
        ImportError, AttributeError: if the module or what it should contain is not there.
        TypeError: if what is named is neither a world nor a function annotated to make one.
    """
    if ":" in world:
        return maker(world, World)
    kind, _, name = world.partition(".")
    tables: dict[str, Mapping[str, Callable[..., Any]]] = {
        "streams": streams.STREAMS,
        "games": games.NAMED_GAMES,
    }
    return lookup(kind.removesuffix("s"), name, lookup("kind of world", kind, tables))


def make_world(task: Task) -> World:
    """The world of a task.

    Raises:
        ValueError: if the world is unknown (lists the near matches) or its settings are wrong.
        TypeError: if a setting is unknown, or what is named is neither a world nor a function annotated to
            make one, or makes something else.
        ImportError, AttributeError: if a custom world cannot be imported.
    """
    if ":" in task.world:
        made: object = find_maker(task.world)(**task.settings)
        if not isinstance(made, World):
            raise TypeError(f"{task.world} made {made!r}, which is not a regret_envs.worlds.World")
        return made
    kind, _, name = task.world.partition(".")
    make = lookup("kind of world", kind, {"streams": streams.make, "games": games.make})
    return make(name, **task.settings)


def file_settings(task: Task) -> tuple[str, ...]:
    """The world's settings that are paths of files; of a custom world, those that name a file."""
    text = {name: value for name, value in task.settings.items() if isinstance(value, str)}
    if ":" in task.world and task.world not in _PATHS:
        return tuple(sorted(name for name, value in text.items() if Path(value).is_file()))
    return tuple(name for name in _PATHS.get(task.world, ()) if name in text)


def located(task: Task, folder: Path) -> Task:
    """The task with the files of its settings and of its opponents as found from the folder of its suite."""
    found = dict(task.settings)
    for name, value in task.settings.items():
        is_custom = ":" in task.world and task.world not in _PATHS
        if isinstance(value, str) and (
            (folder / value).is_file() if is_custom else name in _PATHS.get(task.world, ())
        ):
            found[name] = str(folder / value)
    opponents = tuple(identity.located(spec, folder) for spec in task.opponents)
    return msgspec.structs.replace(task, settings=found, opponents=opponents)


_PATHS = {
    "streams.recorded": ("source",),
    "games.normal_form": ("payoffs",),
    "regret_envs.games.gambit:read_nfg": ("path",),
    "regret_envs.games.gambit:read_efg": ("path",),
}


def seat_specs(task: Task, agent: str, total: int) -> tuple[str, ...]:
    """The spec of the agent in each of `total` seats; in self-play a single one, for all of them.

    Args:
        task: the task.
        agent: the ranked agent's spec.
        total: seats of the task's world.

    Raises:
        ValueError: if there is no such seat, or not one opponent for every other seat.
        SpecError: if an opponent's spec is malformed.
    """
    if not task.opponents:
        return (agent,)
    others = total - 1
    if not 0 <= task.seat < total or not others:
        raise ValueError(
            f"there are opponents and seat is {task.seat}; the number of seats of {task.world} is {total}"
        )
    if len(task.opponents) not in (1, others):
        raise ValueError(
            f"the number of opponents in {task.world} is {others}, got {len(task.opponents)} specs: give "
            "one for each, or one for all"
        )
    specs = [spec.replace(RANKED, agent) for spec in task.opponents]
    specs = specs * others if len(specs) == 1 else specs
    return (*specs[: task.seat], agent, *specs[task.seat :])


RANKED = "{agent}"
"""What stands for the ranked agent's spec in an opponent's."""


def make_feedback(task: Task) -> list[Feedback]:
    """The layers of a task's feedback.

    Raises:
        ValueError: if a layer is unknown (lists the near matches), a setting is out of range or layers
            exclude each other.
        TypeError: if a setting is unknown.
    """
    layers = [feedback.make(layer.name, **layer.settings) for layer in task.feedback]
    return feedback.as_layers(layers)
