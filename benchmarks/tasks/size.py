"""What playing a task takes, so that what cannot end is refused before it begins."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regret_envs.benchmarks.tasks.task import Task, find_maker
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
        TooLargeError: if it has more than 10⁸ rounds, times players, or would take more than 16 GiB, with
            the estimate.
    """
    rounds = task.horizon * max(len(seats), 1)
    if rounds > MOST_ROUNDS:
        hours = rounds * _ROUND_SECONDS / 3600
        players = f" with {len(seats):,} players" if len(seats) > 1 else ""
        raise TooLargeError(
            f"horizon {task.horizon:,}{players} is more than {MOST_ROUNDS:,} rounds, "
            f"at least {_about(hours)} hours a cell: {_FORCE}"
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
        TooLargeError: if its arrays are so large, with the estimate.
    """
    needed = 0.0
    # What is wrong with settings is said when the world is made.
    with contextlib.suppress(TypeError, ValueError, LookupError, ImportError, AttributeError):
        needed = 8 * _numbers(world, settings)
    if needed > MOST_BYTES / 8:
        raise TooLargeError(
            f"{world} with these settings makes arrays of about {_about(needed / 2**30)} GiB: {_FORCE}"
        )


def _numbers(world: str, settings: Mapping[str, Any]) -> float:
    """About how many numbers the arrays of a world contain."""
    actions = settings.get("num_actions", 0)
    counts = actions if isinstance(actions, (list, tuple)) else [actions]
    least = sum(float(d) for d in counts)
    if ":" in world:
        return least
    name = world.rpartition(".")[2]
    if name not in _ARRAYS:
        return least
    bound = inspect.signature(find_maker(world if "." in world else f"games.{world}")).bind(**settings)
    bound.apply_defaults()
    return max(least, _ARRAYS[name](bound.arguments))


def _product(counts: Sequence[int]) -> float:
    return math.prod(map(float, counts)) * len(counts)


def _congestion(s: Mapping[str, Any]) -> float:
    strategies = s["num_resources"] if s["num_strategies"] is None else s["num_strategies"]
    return float(s["num_players"]) * strategies * max(s["num_resources"], s["strategy_size"])


def _blotto(s: Mapping[str, Any]) -> float:
    """Of N players, the divisions of the most troops, by the troops on every battlefield."""
    fields = s["battlefields"]
    width = len(fields[0]) if isinstance(fields[0], (list, tuple)) else len(fields)
    most = max(s["troops"])
    log_ways = math.lgamma(most + width) - math.lgamma(most + 1) - math.lgamma(width)
    return len(s["troops"]) * math.exp(min(log_ways, 700.0)) * (most + 1) * width


# Worlds whose arrays grow faster than their numbers of actions.
_ARRAYS: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "random_game": lambda s: _product(s["num_actions"]),
    "random_games": lambda s: _product(s["num_actions"]),
    "shapley": lambda s: 2.0 * s["num_actions"] ** 2,
    "polymatrix": lambda s: sum(map(float, s["num_actions"])) ** 2,
    "congestion": _congestion,
    "braess": lambda s: 15.0 * s["num_players"],
    "blotto": _blotto,
    "first_price_auction": lambda s: float(s["num_players"]) * s["num_bids"],
    "second_price_auction": lambda s: float(s["num_players"]) * s["num_bids"],
    "public_goods": lambda s: (
        float(s["num_levels"]) * len(s["endowments"]) if isinstance(s["num_levels"], int) else 0.0
    ),
    "minority": lambda s: float(s["num_players"]),
    "markov_modulated": lambda s: float(s["num_states"]) * s["num_actions"],
}


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
