"""Checks of a task from a file or a plug-in, by value, before anything is played or written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from regret_envs.agents import registry
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.size import check_settings, check_size
from regret_envs.benchmarks.tasks.task import Task, make_feedback, make_world, seat_specs
from regret_envs.feedback import Feedback
from regret_envs.games import Game
from regret_envs.metrics import Metric, make_metric
from regret_envs.play.hooks import misfit
from regret_envs.seeding import RunSeeds
from regret_envs.streams import Recorded
from regret_envs.worlds import World

LONGEST_ID = 100
_LARGEST = 2**53  # what every reader of JSON holds exactly


class SuiteError(ValueError):
    """A suite file, or a task or suite of a plug-in, is wrong; the message says where."""


def check_task(task: Task, where: str, *, force: bool = False) -> Task:
    """Check that a task from a file or a plug-in can be run.

    Args:
        task: the task.
        where: the file or plug-in, for messages.
        force: whether a task that is estimated not to end or not to fit into memory passes.

    Returns:
        The task; `num_runs` follows from the windows of recorded data.

    Raises:
        SuiteError: if its id is that of a built-in task, a metric is unknown, its world or feedback cannot
            be made, cannot last the horizon or give the runs, or its opponents do not fit; says `where` and
            in which task.
    """
    try:
        if task.id in TASKS and task != TASKS[task.id]:
            raise ValueError("the id is a built-in task's: choose another")
        for problem in _wrong_values(task):
            raise ValueError(problem)
        if not force:
            check_settings(task.world, task.settings)
            check_size(task, (), 1)
        metrics = [make_metric(name) for name in task.metrics]
        layers = make_feedback(task)
        world = make_world(task)
        if isinstance(world, Recorded) and world.window is not None and task.num_runs is None:
            task = msgspec.structs.replace(task, num_runs=world.num_windows)
        last = RunSeeds(0, 1, first_run=(task.num_runs or 1) - 1)
        world.start(num_agents=world.default_seats(), horizon=task.horizon, seeds=last)
        if not force:
            check_size(task, world.seats(world.default_seats()), task.num_runs or 1)
        for metric in metrics:
            if reason := _unmet(metric, world, layers):
                raise ValueError(f"{metric.name} {reason}")
        _check_seats(task, world, layers)
    except Exception as error:  # a world of somebody else's may raise anything
        raise SuiteError(f"{where}, task {task.id!r}: {str(error) or type(error).__name__}") from error
    return task


def fault_of_id(id: str) -> str | None:
    """Why a text cannot be a task's id; None if it can.

    An id is 1 to 100 printable characters without commas, begins with a letter, a digit or an underscore, and
    ends with no space.
    """
    if not 1 <= len(id) <= LONGEST_ID:
        return f"an id has 1 to {LONGEST_ID} characters, not {len(id)}"
    if not id.isprintable() or "," in id or id != id.strip():
        return "an id has no commas, control characters or spaces at its ends"
    if not (id[0].isalnum() or id[0] == "_"):
        return "an id begins with a letter, a digit or an underscore"
    return None


def sanitized_id(text: str) -> str:
    """The id that is nearest to a text, such as the name of a file."""
    id = "".join(char if char.isprintable() and char != "," else "-" for char in text)[:LONGEST_ID].strip()
    return id if fault_of_id(id) is None else f"_{id[: LONGEST_ID - 1]}"


def _wrong_values(task: Task) -> Iterator[str]:
    """What of a task's values cannot be, a message each."""
    if (fault := fault_of_id(task.id)) is not None:
        yield fault
    if not {".", ":"} & set(task.world):
        yield f'world must be "games.NAME", "streams.NAME" or "module:factory", got {task.world!r}'
    if not (math.isfinite(task.loss_scale) and task.loss_scale > 0):
        yield f"loss_scale must be finite and positive, got {task.loss_scale}"
    if not (math.isfinite(task.starting_loss_scale) and task.starting_loss_scale >= 0):
        yield f"starting_loss_scale must be finite and not negative, got {task.starting_loss_scale}"
    for name in ("horizon", "version", "num_runs"):
        value = getattr(task, name)
        if value is not None and not 1 <= value <= _LARGEST:
            yield f"{name} must be at least 1 and at most {_LARGEST}, got {value}"
    if not task.metrics:
        yield "a metric is required"
    if len(set(task.metrics)) < len(task.metrics):
        yield f"metrics must differ, got {', '.join(task.metrics)}"
    if not task.summary.isprintable():
        yield "summary must be one line without control characters"
    for name, settings in [("settings", task.settings), *((x.name, x.settings) for x in task.feedback)]:
        if not _is_finite(settings):
            # JSON has no such numbers: nobody could read the results' identity again.
            yield f"{name} must be finite, got {settings}"


def _is_finite(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _unmet(metric: Metric, world: World, layers: Sequence[Feedback]) -> str | None:
    """Why a world under some feedback does not provide what a metric needs."""
    if "game" in metric.needs and not isinstance(world, Game):
        return f"is defined in games, and {world!r} is a stream"
    if "two players" in metric.needs and world.default_seats() != 2:
        return f"is defined in games of two players, and {world!r} has {world.default_seats()}"
    if "outcomes" in metric.needs and isinstance(world, Game) and metric.name not in world.outcome_names:
        known = ", ".join(world.outcome_names) or "none"
        return f"is not an outcome of {world!r}; its outcomes: {known}"
    if "realized actions" in metric.needs and not any(layer.draws_actions for layer in layers):
        return "needs drawn actions: give the feedback a layer 'bandit'"
    return None


def _check_seats(task: Task, world: World, layers: Sequence[Feedback]) -> None:
    """Check that the opponents fit and can play, whoever the ranked agent is; raise `ValueError` if not."""
    if list(task.rounds) != sorted({t for t in task.rounds if 0 < t <= task.horizon}):
        raise ValueError(f"rounds must increase and lie in 1 … {task.horizon}, got {list(task.rounds)}")
    if task.seat and not task.opponents:
        raise ValueError(f"seat is {task.seat} and there are no opponents: who sits in the other seats?")
    total = world.default_seats()
    for seat, spec in enumerate(seat_specs(task, "uniform", total)):
        if task.opponents and seat != task.seat:
            d = world.seats(total)[seat]
            if reason := misfit(registry.make(spec), d, task.horizon, layers):
                raise ValueError(f"its opponent {spec} cannot play in seat {seat}: {reason}")
