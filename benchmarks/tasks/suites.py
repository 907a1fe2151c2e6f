"""Tasks and suites by name: built-in ones, those of plug-ins, and those in TOML files.

A suite file names existing tasks and defines new ones, with the fields of `Task`:

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

    [[task]]
    id = "mine"
    payoffs = [[[3, 0], [5, 1]], [[3, 5], [0, 1]]]    # one array per player, or "file.npz"
    action_names = ["cooperate", "defect"]
    horizon = 1000
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import msgspec

from regret_envs import games
from regret_envs.benchmarks.tasks.checks import SuiteError as SuiteError
from regret_envs.benchmarks.tasks.checks import check_task
from regret_envs.benchmarks.tasks.core import SUITES, TASKS, Suite
from regret_envs.benchmarks.tasks.hints import form_hint, unknown_suite
from regret_envs.benchmarks.tasks.task import (
    GAME_METRICS,
    Task,
    located,
)
from regret_envs.names import UnknownNameError, lookup
from regret_envs.plugins import Plugin, PluginError, plugins


class SuiteFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a suite file."""

    summary: str = ""
    tasks: tuple[str, ...] = ()
    task: tuple[Task, ...] = ()


def find_tasks(names: str, *, force: bool = False, wrong: list[str] | None = None) -> list[Task]:
    """The tasks that a comma-separated list of suites, tasks and suite files names, each once.

    Args:
        names: the list.
        force: whether tasks that are estimated not to end or to fit into memory are taken.
        wrong: where messages about wrong tasks of suite files go, which are left out; None: they raise.

    Raises:
        UnknownNameError: if a suite or task is unknown; lists the near matches.
        SuiteError: if a suite file, or a task or suite of a plug-in, is wrong.
        PluginError: if a plug-in does not import.
    """
    chosen: dict[str, Task] = {}
    for name in (name.strip() for name in names.split(",")):
        if Path(name).suffix in (".csv", ".npy", ".npz", ".parquet"):
            raise SuiteError(
                f"{name} contains losses: describe a task in a suite file, my.toml, with world = "
                f'"streams.recorded" and settings = {{ source = "{name}" }}, and give --suite my.toml'
            )
        tasks = read_suite(name, force=force, wrong=wrong) if name.endswith(".toml") else _named(name)
        for task in tasks:
            if chosen.setdefault(task.id, task) != task:
                raise SuiteError(f"{names} has two tasks with the id {task.id!r}")
    return list(chosen.values())


def task_ids(names: str, known: Collection[str]) -> list[str]:
    """The ids of what `find_tasks` would find, for commands that read results: no world is made.

    Args:
        names: suites, tasks and suite files, comma-separated.
        known: ids that are known from results, and may be named too.

    Raises:
        UnknownNameError: if a name is unknown; lists the near matches.
        SuiteError: if a suite file is wrong in its form.
        PluginError: if the plug-in of a suite does not import.
    """
    ids: dict[str, None] = {}
    for name in (name.strip() for name in names.split(",")):
        suites, tasks = plugins("suites", SUITES)[0], plugins("tasks", TASKS)[0]
        if name.endswith(".toml"):
            content = _parsed(name)
            ids |= dict.fromkeys([*content.tasks, *(task.id for task in content.task)])
        elif name in SUITES:
            ids |= dict.fromkeys(SUITES[name].tasks)
        elif name in known or name in TASKS or name in tasks:
            ids[name] = None
        else:
            lookup("suite or task", name, {**SUITES, **TASKS, **suites, **tasks, **dict.fromkeys(known)})
            ids |= dict.fromkeys(_suite(suites[name]).tasks)
    return list(ids)


def built_in_tasks(names: str) -> list[Task]:
    """The built-in tasks in a list of suites and tasks, separated by commas; other names are passed over."""
    named = [name.strip() for name in names.split(",")]
    ids = [id for name in named for id in (SUITES[name].tasks if name in SUITES else [name])]
    return [TASKS[id] for id in dict.fromkeys(ids) if id in TASKS]


def default_runs(names: str) -> int:
    """The runs of a task where nothing is asked for: what the named suites agree on, else 64."""
    runs = {SUITES[name.strip()].runs if name.strip() in SUITES else 64 for name in names.split(",")}
    return runs.pop() if len(runs) == 1 else 64


def read_suite(path: str | Path, *, force: bool = False, wrong: list[str] | None = None) -> list[Task]:
    """The tasks of a suite file; files and modules that it names are looked for from its folder.

    Args:
        path: the file.
        force, wrong: as in `find_tasks`.

    Raises:
        SuiteError: if it cannot be read, a field is unknown (names the near ones) or of the wrong type,
            or a task is wrong.
        UnknownNameError, PluginError: as `find_tasks`.
    """
    content = _parsed(path, wrong)
    folder = Path(path).resolve().parent
    if content.task and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    own = []
    for task in content.task:
        try:
            own.append(check_task(located(task, folder), str(path), force=force))
        except SuiteError as error:
            if wrong is None:
                raise
            wrong.append(str(error))
    try:
        named = [task for name in content.tasks for task in _named(name)]
    except UnknownNameError as error:
        raise SuiteError(f"{path}: {error}") from None
    if not named and not own and not wrong:
        raise SuiteError(f"{path} has no tasks: give tasks = [...] or [[task]]")
    return [*named, *own]


def _parsed(path: str | Path, wrong: list[str] | None = None) -> SuiteFile:
    """The contents of a suite file, right in their form; tasks that are not may be left out."""
    try:
        raw = msgspec.toml.decode(Path(path).read_bytes())
        own = raw.get("task", []) if isinstance(raw.get("task", []), list) else []
        right = [task for n, task in enumerate(own, 1) if _in_form(task, n, Path(path), wrong)]
        return msgspec.convert({**raw, "task": right} if own else raw, SuiteFile)
    except OSError as error:
        # Without an errno it is about a file that the suite names.
        what = f"{path} cannot be read: {error.strerror}" if error.errno else f"{path}: {error}"
        raise SuiteError(what) from None
    except msgspec.MsgspecError as error:
        raise SuiteError(f"{path}: {error}{form_hint(str(error), SuiteFile)}") from None
    except (ValueError, TypeError, UnicodeDecodeError) as error:  # of the payoffs
        raise SuiteError(f"{path}: {error}") from None


def _in_form(task: Any, number: int, path: Path, wrong: list[str] | None) -> bool:
    """Whether a task of a suite file has the right fields, after its payoffs are turned into settings."""
    try:
        _own_payoffs(task, path.resolve().parent)
        if wrong is not None:
            msgspec.convert(task, Task)
    except (ValueError, TypeError) as error:
        if wrong is None:
            raise
        wrong.append(f"{path}, task {number}: {error}{form_hint(str(error), Task)}")
        return False
    return True


def _own_payoffs(task: Any, folder: Path) -> None:
    """Turn `payoffs` and `action_names` of a task, as a file has them, into the settings of its world."""
    if not isinstance(task, dict) or not {"payoffs", "action_names"} & task.keys():
        return
    if "payoffs" not in task:
        raise msgspec.ValidationError("action_names needs payoffs = [[...], [...]], one array per player")
    if task.setdefault("world", _OWN) != _OWN:
        raise msgspec.ValidationError(
            f"payoffs describe a world of their own: leave out world = {task['world']!r}"
        )
    settings = task.setdefault("settings", {})
    for key in ("payoffs", "action_names"):
        if key in task:
            settings[key] = task.pop(key)
    if isinstance(settings["payoffs"], str):
        settings["payoffs"] = str(folder / settings["payoffs"])
    task.setdefault("metrics", list(GAME_METRICS))
    if "loss_scale" not in task:
        task["loss_scale"] = games.make("normal_form", **settings).loss_scale or 1.0
    task.setdefault("summary", "own payoffs")


_OWN = "games.normal_form"


def _named(name: str) -> Iterable[Task]:
    """The tasks of the suite or task with that name."""
    if name in SUITES:
        return [TASKS[id] for id in SUITES[name].tasks]
    if name in TASKS:
        return [TASKS[name]]
    suites, tasks = plugins("suites", SUITES)[0], plugins("tasks", TASKS)[0]
    if name not in suites and name not in tasks:
        raise unknown_suite(name, {**SUITES, **TASKS, **suites, **tasks})
    if name in tasks:
        return [_task(tasks[name])]
    return [
        TASKS[id] if id in TASKS else _task(lookup("task", id, tasks)) for id in _suite(suites[name]).tasks
    ]


def _suite(plugin: Plugin) -> Suite:
    suite = plugin.load()
    if not isinstance(suite, Suite):
        raise PluginError(f"{plugin} is {suite!r}, which is not a regret_envs.benchmarks.Suite")
    return suite


def _task(plugin: Plugin) -> Task:
    task = plugin.load()
    if not isinstance(task, Task):
        raise PluginError(f"{plugin} is {task!r}, which is not a regret_envs.benchmarks.Task")
    if task.id != plugin.name:
        raise PluginError(f"{plugin} has the id {task.id!r}: the two must be the same")
    return check_task(task, str(plugin))
