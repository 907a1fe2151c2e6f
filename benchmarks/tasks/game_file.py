"""The task of a game from a file."""

from __future__ import annotations

from pathlib import Path

from regret_envs.benchmarks.tasks.task import GAME_METRICS, Task
from regret_envs.games.gambit import read_nfg

_RANGE = 2.0


def file_task(path: Path) -> tuple[Task, str]:
    """The task of a Gambit file, named after the file, and a line that describes it.

    Payoffs are scaled to a range of 2, for which the agents' default step sizes are right.

    Raises:
        ImportError: if pygambit is not installed.
        OSError: if the file cannot be read.
        ValueError: if it is not a Gambit file.
    """
    game = read_nfg(path)
    task = Task(
        id=path.stem,
        world="regret_envs.games.gambit:read_nfg",
        settings={"path": str(path.resolve()), "payoff_range": _RANGE},
        horizon=1000,
        metrics=GAME_METRICS,
        loss_scale=_RANGE,
        starting_loss_scale=1.0,
        summary=f"{game!r} of {path.name}",
    )
    divisor = game.loss_scale / _RANGE
    return task, f"{path.stem}: {game!r}, payoffs divided by {divisor:g} to a range of {_RANGE:g}"
