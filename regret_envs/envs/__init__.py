"""Worlds as reinforcement-learning environments: PettingZoo, Gymnasium and Gymnasium vector.

`import regret_envs` registers them; the module named by an entry makes it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import pettingzoo

from regret_envs.names import near_matches
from regret_envs.rooms import EnvironmentEntry, rooms

ENVIRONMENTS: dict[str, EnvironmentEntry] = {
    "regret_envs/Experts-v0": EnvironmentEntry(
        "regret_envs.experts_v0", "Agents facing one loss stream, i.i.d. Gaussian unless another is given"
    ),
    "regret_envs/BiasedGaussian-v0": EnvironmentEntry(
        "regret_envs.biased_gaussian_v0", "Agents facing Gaussian losses with a bias drawn each episode"
    ),
    "regret_envs/RepeatedGame-v0": EnvironmentEntry(
        "regret_envs.repeated_game_v0", "Any normal-form game, any number of players"
    ),
    "regret_envs/WeightedRPS-v0": EnvironmentEntry(
        "regret_envs.weighted_rps_v0", "Weighted rock–paper–scissors, two players"
    ),
}

PREDICTION: dict[str, EnvironmentEntry] = {
    name: entry for room in rooms().values() for name, entry in room.environments.items()
}
"""Those of the side rooms, for one agent: registered with Gymnasium alone, each by its "module:Class"."""


def register() -> None:
    """Register the environments with Gymnasium, and with PettingZoo where it has a registry (from 1.27)."""
    for name, entry in ENVIRONMENTS.items():
        gymnasium.register(
            name,
            entry_point=f"{entry.module}:SingleEnv",
            vector_entry_point=f"{entry.module}:vector_env",
        )
        if hasattr(pettingzoo, "register"):
            pettingzoo.register("parallel", name, f"{entry.module}:parallel_env")
            pettingzoo.register("aec", name, f"{entry.module}:env")
    for name, entry in PREDICTION.items():
        gymnasium.register(name, entry_point=entry.module)


def check_options(maker: Callable[..., Any], options: Mapping[str, Any], known: type) -> None:
    """Raise if `maker` was given an option that its environment lacks.

    Args:
        maker: the function or class, for its own settings.
        options: the further options that it was given.
        known: the TypedDict of the known options.

    Raises:
        TypeError: lists the near matches.
    """
    names = set(known.__annotations__)
    for option in options:
        if option not in names:
            own = {name for name, p in inspect.signature(maker).parameters.items() if p.kind != p.VAR_KEYWORD}
            raise TypeError(f"unknown option {option!r}: {near_matches(option, names | own)}")
