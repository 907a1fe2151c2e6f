"""The task of a game from a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from regret_envs.benchmarks.tasks.task import GAME_METRICS, Task, make_world
from regret_envs.games.gambit import read_efg, read_nfg

_RANGE = 2.0


def file_task(path: Path) -> tuple[Task, str]:
    """The task of a Gambit file, named after the file, and a line that describes it.

    Payoffs are scaled to a range of 2, for which the agents' default step sizes are right.

    Raises:
        ImportError: if the file is an `.efg` and pygambit is not installed.
        OSError: if the file cannot be read.
        ValueError: if it is not a Gambit file.
    """
    read = read_efg if path.suffix.lower() == ".efg" else read_nfg
    game = read(path)
    task = Task(
        id=path.stem,
        world=f"{read.__module__}:{read.__name__}",
        settings={"path": str(path.resolve()), "payoff_range": _RANGE},
        horizon=1000,
        metrics=GAME_METRICS,
        loss_scale=_RANGE,
        starting_loss_scale=1.0,
        summary=f"{game!r} of {path.name}",
    )
    divisor = game.loss_scale / _RANGE
    return task, f"{path.stem}: {game!r}, payoffs divided by {divisor:g} to a range of {_RANGE:g}"


def file_tasks(paths: Iterable[Path]) -> tuple[list[Task], list[str]]:
    """The tasks of several files, and a line about each; files of one name get ids that differ.

    Raises:
        ImportError, OSError, ValueError: as `file_task`.
    """
    tasks, notes = zip(*(file_task(path) for path in dict.fromkeys(map(Path.resolve, paths))), strict=True)
    named = Counter(task.id for task in tasks)
    distinct = [
        msgspec.structs.replace(task, id=f"{task.id}-{make_world(task).fingerprint[:6]}")  # type: ignore[attr-defined]
        if named[task.id] > 1
        else task
        for task in tasks
    ]
    lines = [
        note if task.id == one.id else f"{one.id}, {one.settings['path']}: {note}"
        for task, one, note in zip(tasks, distinct, notes, strict=True)
    ]
    return list({task.id: task for task in distinct}.values()), lines
