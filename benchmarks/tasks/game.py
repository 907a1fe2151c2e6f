"""Tasks of games that are named on the command line: by name, by file, or by the function that makes them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from regret_envs.agents import specs
from regret_envs.benchmarks.tasks.checks import sanitized_id
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.size import check_settings
from regret_envs.benchmarks.tasks.suites import read_suite
from regret_envs.benchmarks.tasks.task import GAME_METRICS, Task, make_world
from regret_envs.games import own_game
from regret_envs.games.gambit import read_efg, read_nfg
from regret_envs.worlds import Game

HORIZON = 1000
_RANGE = 2.0
_READERS: dict[str, Callable[..., Any]] = {
    ".nfg": read_nfg,
    ".efg": read_efg,
    ".npz": own_game,
    ".npy": own_game,
}


def game_tasks(sources: Iterable[str], *, force: bool = False) -> tuple[list[Task], list[str]]:
    """The tasks that play games, and a line about each; different games of one name get ids that differ.

    Args:
        sources: each the name of a game, a "module:function" that makes one (both with settings in brackets,
            "random_game[num_actions=(3, 4)]"), or a file: Gambit's (`.nfg`, `.efg`), arrays of payoffs
            (`.npz`, `.npy`) or a suite file of games (`.toml`). Payoffs of files, except suite files, are
            scaled to a range of 2, for which the agents' default step sizes are right.
        force: whether games that are estimated not to fit into memory are made.

    Raises:
        UnknownNameError: if there is no such game; lists the near matches.
        SuiteError: if a suite file is wrong.
        ImportError: if a module is not found, or a file needs an extra that is not installed.
        OSError: if a file cannot be read.
        TypeError: if a setting is unknown, or what is named does not make a game.
        ValueError: if a setting or file is wrong.
    """
    found = [made for source in dict.fromkeys(sources) for made in _tasks(source, force)]
    named = Counter(task.id for task, _ in found)
    tasks: dict[str, Task] = {}
    notes: dict[str, str] = {}
    for task, note in found:
        id = task.id
        if named[id] > 1 or TASKS.get(id, task) != task:
            id = f"{id}-{_fingerprint(task)}"
            note = f"{id}, {next(iter(task.settings.values()), task.world)}: {note}"
        tasks.setdefault(id, msgspec.structs.replace(task, id=id))
        notes.setdefault(id, note)
    return list(tasks.values()), [note for note in notes.values() if note]


def tournament_task(
    source: str, horizon: int | None = None, *, force: bool = False
) -> tuple[Task, list[str]]:
    """The task whose pairings a tournament plays, and lines about it.

    Args:
        source: a game of two players, as in `game_tasks`.
        horizon: rounds; None: a suite file's, otherwise 1,000.
        force: as in `game_tasks`.

    Raises:
        ValueError: if it is not one game of two players, or has opponents of its own.
        ImportError, OSError, TypeError: as `game_tasks`.
    """
    games, notes = game_tasks([source], force=force)
    if len(games) != 1:
        ids = ", ".join(task.id for task in games)
        raise ValueError(f"a tournament plays one game, and {source} has {len(games)}: {ids}")
    game, players = games[0], make_world(games[0]).default_seats()
    if players != 2:
        raise ValueError(f"a tournament needs a game of 2 players, and {game.id} has {players}")
    if game.opponents:
        raise ValueError(f"a tournament fills both seats: leave out the opponents of {game.id}")
    horizon = horizon or game.horizon
    task = msgspec.structs.replace(
        game,
        id=f"tournament_{game.id}_t{horizon}",
        horizon=horizon,
        metrics=("payoff", "external_regret", "swap_regret", "cce_gap", "ce_gap"),
        rounds=(horizon,),
        summary=f"everyone against everyone in {game.id}",
    )
    return task, notes


def _tasks(source: str, force: bool) -> list[tuple[Task, str]]:
    """The tasks of one source, and a line about each, or "" where there is nothing to say."""
    path = Path(source)
    suffix = path.suffix.lower()
    if suffix == ".toml":
        tasks = read_suite(path, force=force)
        for task in tasks:
            if not isinstance(make_world(task), Game):
                raise ValueError(f"{source}, task {task.id!r} is a stream, not a game: give --suite {source}")
        return [(task, "") for task in tasks]
    if suffix in _READERS:
        return [_file_task(path, suffix)]
    if path.is_file() or (path.suffix and "[" not in source and not source.startswith("games.")):
        if not path.exists():
            raise FileNotFoundError(f"there is no file {source}")
        raise ValueError(
            f"{source} is not a file that contains a game: {', '.join(_READERS)} and .toml are; losses are "
            'played by a suite file with world = "streams.recorded"'
        )
    try:
        name, settings = specs.parse(source)
    except specs.SpecError as error:
        raise ValueError(str(error).replace("agent spec", "game")) from None
    if not force:
        check_settings(name, settings)
    return [_made_task(name.removeprefix("games."), settings)]


def _file_task(path: Path, suffix: str) -> tuple[Task, str]:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    reader = _READERS[suffix]
    key = "payoffs" if reader is own_game else "path"
    game = reader(**{key: path})
    task = Task(
        id=sanitized_id(path.stem),
        world="games.normal_form" if reader is own_game else f"{reader.__module__}:{reader.__name__}",
        settings={key: str(path.resolve()), "payoff_range": _RANGE},
        horizon=HORIZON,
        metrics=GAME_METRICS,
        loss_scale=_RANGE,
        starting_loss_scale=1.0,
        summary=f"{game!r} of {path.name}",
    )
    divisor = game.loss_scale / _RANGE
    scaled = f", payoffs divided by {divisor:g} to a range of {_RANGE:g}" if divisor else ""
    return task, f"{path.stem}: {game!r}{scaled}"


def _made_task(name: str, settings: dict[str, Any]) -> tuple[Task, str]:
    """The task of a game by its name, or by the "module:function" that makes it."""
    id = name.rpartition(":")[2]
    task = Task(
        id=f"{id}-{_digest(settings)}" if settings else id,
        world=name if ":" in name else f"games.{name}",
        settings=settings,
        horizon=HORIZON,
        metrics=GAME_METRICS,
        loss_scale=1.0,
        starting_loss_scale=1.0,
        summary=f"the game {name}",
    )
    game = make_world(task)
    if not isinstance(game, Game):
        raise TypeError(f"{name} made {game!r}, which is a stream, not a game: write a suite file")
    note = f"{task.id}: {game!r}" if settings or ":" in name else ""
    return msgspec.structs.replace(task, loss_scale=game.loss_scale or 1.0), note


def _fingerprint(task: Task) -> str:
    """Six characters that tell the task's game from others."""
    return str(getattr(make_world(task), "fingerprint", _digest([task.world, task.settings])))[:6]


def _digest(content: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:6]
