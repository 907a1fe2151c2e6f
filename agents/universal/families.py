"""Families of worlds as data: laws, and the ranges that their settings are drawn from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from regret_envs import games, streams
from regret_envs.plugins import maker
from regret_envs.worlds import World

BUILT_IN = Path(__file__).parent / "families.toml"


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A family of worlds.

    Attributes:
        name: for the log.
        world: as a task's: "streams.NAME", "games.NAME" or "module:Class".
        weight: how often it is drawn, next to the others.
        num_actions, horizon, settings, starting_loss_scale: fixed values or ranges, see `draw`.
    """

    name: str
    world: str
    weight: float = 1.0
    num_actions: Any
    horizon: Any
    starting_loss_scale: Any = 0.0
    settings: dict[str, Any] = {}

    def sample(self, rng: np.random.Generator) -> tuple[World, int, float]:
        """A world, a horizon and the scale of the starting losses."""
        settings = {key: draw(law, rng) for key, law in self.settings.items()}
        world = make_world(self.world, num_actions=draw(self.num_actions, rng), **settings)
        return world, draw(self.horizon, rng), draw(self.starting_loss_scale, rng)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    family: tuple[Family, ...]


def read_families(path: Path = BUILT_IN) -> tuple[Family, ...]:
    """The families of a file.

    Raises:
        ValueError: if it cannot be read, a field is unknown or of the wrong type, two families share a
            name, or a family's worlds cannot be made; names the file and the family.
    """
    try:
        families = msgspec.toml.decode(path.read_bytes(), type=_File).family
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path}: {error}") from None
    if not families or len({family.name for family in families}) < len(families):
        raise ValueError(f"{path} needs [[family]] tables of different names")
    for family in families:
        try:
            if not family.weight > 0:
                raise ValueError(f"weight must be positive, got {family.weight}")
            family.sample(np.random.default_rng(0))
        except (ValueError, TypeError, ImportError, AttributeError) as error:
            raise ValueError(f"{path}, family {family.name!r}: {error}") from error
    return families


def draw(law: Any, rng: np.random.Generator) -> Any:
    """A value of a setting.

    Args:
        law: [a, b] is uniform between two numbers (whole numbers between whole ones),
            {"log": [a, b]} uniform in the logarithm, {"choices": [...]} one of them; else the value itself.
        rng: the generator.

    Raises:
        ValueError: if a table has other keys.
    """
    if isinstance(law, dict):
        if set(law) == {"choices"}:
            return law["choices"][rng.integers(len(law["choices"]))]
        if set(law) == {"log"}:
            low, high = law["log"]
            value = math.exp(rng.uniform(math.log(low), math.log(high)))
            return round(value) if isinstance(low, int) and isinstance(high, int) else value
        raise ValueError(f"a range is [a, b], a table with the key 'choices' or one with 'log', got {law}")
    if isinstance(law, list):
        low, high = law
        whole = isinstance(low, int) and isinstance(high, int)
        return int(rng.integers(low, high + 1)) if whole else float(rng.uniform(low, high))
    return law


def make_world(name: str, **settings: Any) -> World:
    """The world of that name, as a task's.

    Raises:
        ValueError, TypeError, ImportError, AttributeError: if there is none, or its settings are wrong.
    """
    if ":" in name:
        return maker(name, World)(**settings)  # type: ignore[type-abstract]
    kind, _, rest = name.partition(".")
    return games.make(rest, **settings) if kind == "games" else streams.make(rest, **settings)
