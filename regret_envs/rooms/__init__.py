"""Side rooms: each folder here holds a line of work whole, with its world, models, training and reproduction.

A room may import everything; nothing outside imports a room. Its `__init__.py` names what the rest of
the package offers of it in `ROOM`, as strings that are imported only when they are used. Delete the folder
(with its line in pyproject.toml and its tests) and the room is gone.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class EnvironmentEntry:
    """An environment, as data.

    Attributes:
        module: holds `parallel_env` and `env` (PettingZoo), `SingleEnv` (Gymnasium) and `vector_env`;
            or "module:Class" of a Gymnasium environment.
        summary: one line for lists.
    """

    module: str
    summary: str


@dataclass(frozen=True)
class Reproduction:
    """A reproduction of published results, as data.

    Attributes:
        target: "module:function" of a `run(options) -> Report`; imported only when it is run.
        summary: one line for `regret-envs reproduce --help`.
        in_all: whether `regret-envs reproduce all` runs it.
        requires: the extras that it needs, comma-separated, or None.
    """

    target: str
    summary: str
    in_all: bool = False
    requires: str | None = None


@dataclass(frozen=True)
class Room:
    """What a side room offers, as data.

    Attributes:
        environments: Gymnasium ids with their "module:Class".
        reproductions: names for `regret-envs reproduce`.
        train_commands: names for `regret-envs train` with the "module:command" of a click command.
    """

    environments: Mapping[str, EnvironmentEntry] = field(default_factory=dict)
    reproductions: Mapping[str, Reproduction] = field(default_factory=dict)
    train_commands: Mapping[str, str] = field(default_factory=dict)


@functools.cache
def rooms() -> Mapping[str, Room]:
    """The rooms in this folder by name; only their `__init__` modules are imported.

    Raises:
        AttributeError: if a folder does not define `ROOM`.
        ValueError: if two rooms offer the same name.
    """
    found: dict[str, Room] = {}
    offered: dict[str, str] = {}
    for module in pkgutil.iter_modules(__path__):
        room: Room = importlib.import_module(f"{__name__}.{module.name}").ROOM
        for kind in ("environments", "reproductions", "train_commands"):
            for name in getattr(room, kind):
                if offered.setdefault(f"{kind} {name}", module.name) != module.name:
                    other = offered[f"{kind} {name}"]
                    raise ValueError(f"the rooms {other} and {module.name} both offer {name!r} ({kind})")
        found[module.name] = room
    return found
