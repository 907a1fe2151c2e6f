"""What playing a task takes, so that what cannot end is refused before it begins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from regret_envs.benchmarks.tasks.task import Task
from regret_envs.metrics import make_metric

MOST_BYTES = 16 * 2**30
MOST_ROUNDS = 10**8
MOST_CELLS = 10**6
_ROUND_SECONDS = 5e-5  # one round of a small cell, at best


class TooLargeError(ValueError):
    """What was asked for would take more time or memory than anyone has; the message says how much."""


def check_size(task: Task, seats: Sequence[int], num_runs: int) -> None:
    """Refuse a cell that would not end or not fit into memory.

    Args:
        task: the task.
        seats: the number of actions of each seat.
        num_runs: runs in the cell.

    Raises:
        TooLargeError: if it has more than 10⁸ rounds or would take more than 16 GiB, with the estimate.
    """
    if task.horizon > MOST_ROUNDS:
        hours = task.horizon * _ROUND_SECONDS / 3600
        raise TooLargeError(
            f"horizon {task.horizon:,} is more than {MOST_ROUNDS:,} rounds, at least {_about(hours)} hours a "
            f"cell: {_FORCE}"
        )
    needed = 8 * num_runs * sum(seats) * 8
    if any("recorded" in make_metric(name).needs for name in task.metrics):
        needed += 2 * 8 * num_runs * sum(seats) * task.horizon
    if needed > MOST_BYTES:
        raise TooLargeError(
            f"{num_runs} runs with {sum(seats):,} actions take about {_about(needed / 2**30)} GiB a cell, "
            f"more than {MOST_BYTES // 2**30}: {_FORCE}"
        )


def check_settings(world: str, settings: Mapping[str, Any]) -> None:
    """Refuse a world that would not fit into memory, before it is made.

    Args:
        world: its name.
        settings: its settings.

    Raises:
        TooLargeError: if its actions are so many; in random games, the joint actions of all players.
    """
    actions = settings.get("num_actions")
    counts = [actions] if isinstance(actions, int) else actions
    if isinstance(counts, (list, tuple)) and all(isinstance(d, int) and d > 0 for d in counts):
        needed = 8 * (math.prod(counts) * len(counts) if "random_game" in world else sum(counts))
        if needed > MOST_BYTES / 8:
            raise TooLargeError(
                f"num_actions {actions} makes arrays of about {_about(needed / 2**30)} GiB: {_FORCE}"
            )


def check_count(cells: int) -> None:
    """Refuse more cells than a results file is made for.

    Raises:
        TooLargeError: if they are more than a million.
    """
    if cells > MOST_CELLS:
        raise TooLargeError(f"{cells:,} cells are more than {MOST_CELLS:,}: {_FORCE}")


_FORCE = "take less, or pass --force (force=True)"


def _about(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
