"""Tasks and suites by name: built in, from plug-ins, and from TOML files.

A suite file names tasks there are and defines tasks of its own, with the fields of `Task`:

    summary = "two games"
    tasks = ["weighted_rps_t1000"]

    [[task]]
    id = "chicken_t200"
    world = "games.chicken"
    horizon = 200
    metrics = ["ce_gap", "swap_regret"]
    loss_scale = 7.0
    starting_loss_scale = 1.0
    summary = "chicken, 2 × 2"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from regret_envs.agents import registry
from regret_envs.benchmarks.tasks.core import SUITES, TASKS, Suite
from regret_envs.benchmarks.tasks.task import (
    METRICS,
    Layer,
    Task,
    make_feedback,
    make_world,
    seat_specs,
)
from regret_envs.feedback import Feedback, unfit
from regret_envs.names import UnknownNameError, lookup, near_matches
from regret_envs.plugins import Plugin, PluginError, plugins
from regret_envs.worlds import World


class SuiteError(ValueError):
    """A suite file or a plug-in's task or suite is wrong; the message says where."""


class SuiteFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a suite file holds."""

    summary: str = ""
    tasks: tuple[str, ...] = ()
    task: tuple[Task, ...] = ()


def find_tasks(names: str) -> list[Task]:
    """The tasks of suites, tasks and suite files, comma-separated, each once.

    Raises:
        UnknownNameError: if there is no such suite or task; lists the near matches.
        SuiteError: if a suite file or what a plug-in offers is wrong.
        PluginError: if a plug-in does not import.
    """
    chosen: dict[str, Task] = {}
    for name in (name.strip() for name in names.split(",")):
        if Path(name).suffix in (".csv", ".npy", ".npz", ".parquet"):
            raise SuiteError(
                f"{name} holds losses: describe a task in a suite file, my.toml, with world = "
                f'"streams.recorded" and settings = {{ source = "{name}" }}, and give --suite my.toml'
            )
        tasks = read_suite(name) if name.endswith(".toml") else _named(name)
        for task in tasks:
            if chosen.setdefault(task.id, task) != task:
                raise SuiteError(f"{names} has two tasks of the id {task.id!r}")
    return list(chosen.values())


def default_runs(names: str) -> int:
    """The runs of a task where nothing is asked for: what the named suites agree on, else 64."""
    runs = {SUITES[name.strip()].runs if name.strip() in SUITES else 64 for name in names.split(",")}
    return runs.pop() if len(runs) == 1 else 64


def read_suite(path: str | Path) -> list[Task]:
    """The tasks of a suite file.

    Raises:
        SuiteError: if it cannot be read, a field is unknown (names the near ones) or of the wrong type,
            or a task is wrong.
        UnknownNameError, PluginError: as `find_tasks`.
    """
    try:
        content = msgspec.toml.decode(Path(path).read_bytes(), type=SuiteFile)
    except OSError as error:
        raise SuiteError(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise SuiteError(f"{path}: {error}{_near_field(str(error))}") from None
    for task in content.task:
        check_task(task, str(path))
    try:
        named = [task for name in content.tasks for task in _named(name)]
    except UnknownNameError as error:
        raise SuiteError(f"{path}: {error}") from None
    if not named and not content.task:
        raise SuiteError(f"{path} has no tasks: give tasks = [...] or [[task]]")
    return [*named, *content.task]


def check_task(task: Task, where: str) -> None:
    """See that a task of somebody else's can be run.

    Raises:
        SuiteError: if its id is a built-in one's, a metric is unknown, or its world or feedback cannot
            be made; says `where` and in which task.
    """
    try:
        if task.id in TASKS and task != TASKS[task.id]:
            raise ValueError("the id is a built-in task's: choose another")
        if "," in task.id or task.horizon < 1 or not task.metrics:
            raise ValueError("an id has no commas, the horizon is at least 1, and there is a metric")
        for metric in task.metrics:
            lookup("metric", metric, METRICS)
        layers = make_feedback(task)
        world = make_world(task)
        _check_seats(task, world, layers)
    except (ValueError, TypeError, ImportError, AttributeError, OSError) as error:
        raise SuiteError(f"{where}, task {task.id!r}: {error}") from error


def _check_seats(task: Task, world: World, layers: Sequence[Feedback]) -> None:
    """See that the opponents fit and can play, whoever the ranked agent is; raise if not."""
    if list(task.rounds) != sorted({t for t in task.rounds if 0 < t <= task.horizon}):
        raise ValueError(f"rounds must increase and lie in 1 … {task.horizon}, got {list(task.rounds)}")
    if task.seat and not task.opponents:
        raise ValueError(f"seat is {task.seat} and there are no opponents: who sits in the other seats?")
    total = world.default_seats()
    for seat, spec in enumerate(seat_specs(task, "uniform", total)):
        if task.opponents and seat != task.seat:
            agent = registry.make(spec)
            d = world.seats(total)[seat]
            if reason := unfit(agent, layers) or agent.unsupported(d, horizon=task.horizon):
                raise ValueError(f"its opponent {spec} cannot play in seat {seat}: {reason}")


def _named(name: str) -> Iterable[Task]:
    """The tasks that a suite's or a task's name stands for."""
    if name in SUITES:
        return [TASKS[id] for id in SUITES[name].tasks]
    if name in TASKS:
        return [TASKS[name]]
    suites, tasks = plugins("suites", SUITES)[0], plugins("tasks", TASKS)[0]
    lookup("suite or task", name, {**SUITES, **TASKS, **suites, **tasks})
    if name in tasks:
        return [_task(tasks[name])]
    suite = suites[name].load()
    if not isinstance(suite, Suite):
        raise PluginError(f"{suites[name]} is {suite!r} and no regret_envs.benchmarks.tasks.core.Suite")
    return [TASKS[id] if id in TASKS else _task(lookup("task", id, tasks)) for id in suite.tasks]


def _task(plugin: Plugin) -> Task:
    task = plugin.load()
    if not isinstance(task, Task):
        raise PluginError(f"{plugin} is {task!r} and no regret_envs.benchmarks.tasks.task.Task")
    if task.id != plugin.name:
        raise PluginError(f"{plugin} has the id {task.id!r}: the two must be the same")
    check_task(task, str(plugin))
    return task


def _near_field(message: str) -> str:
    """The near matches of the unknown field that an error of msgspec names."""
    found = re.search(r"unknown field `([^`]*)`(?: - at `\$\.(\S*)`)?", message)
    if not found:
        return ""
    name, path = found.groups()
    struct = SuiteFile if not path else Layer if "feedback" in path else Task
    return f"; {near_matches(name, struct.__struct_fields__)}"
