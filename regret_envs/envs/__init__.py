"""Worlds as reinforcement-learning environments: PettingZoo, Gymnasium and Gymnasium vector.

`import regret_envs` registers them; the module named by an entry makes it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import pettingzoo

from regret_envs.envs import version_0
from regret_envs.envs.vector import VectorPlay
from regret_envs.games import NAMED_GAMES
from regret_envs.names import near_matches
from regret_envs.rooms import EnvironmentEntry, rooms
from regret_envs.streams import STREAMS

if TYPE_CHECKING:
    from regret_envs.envs.rsl_rl import RslRlVecEnv
    from regret_envs.envs.sb3 import SB3VecEnv

ENVIRONMENTS: dict[str, EnvironmentEntry] = {
    "regret_envs/Experts-v1": EnvironmentEntry(
        "regret_envs.experts_v1", "Agents facing one loss stream, i.i.d. Gaussian unless another is given"
    ),
    "regret_envs/BiasedGaussian-v1": EnvironmentEntry(
        "regret_envs.biased_gaussian_v1", "Agents facing Gaussian losses with a bias drawn each episode"
    ),
    "regret_envs/RepeatedGame-v1": EnvironmentEntry(
        "regret_envs.repeated_game_v1", "Any normal-form game, any number of players"
    ),
    "regret_envs/WeightedRPS-v1": EnvironmentEntry(
        "regret_envs.weighted_rps_v1", "Weighted rock–paper–scissors, two players"
    ),
}

PREDICTION: dict[str, EnvironmentEntry] = {
    name: entry for room in rooms().values() for name, entry in room.environments.items()
}
"""Those of the side rooms, for one agent: registered with Gymnasium alone, each by its "module:Class"."""


def presets() -> dict[str, tuple[str, dict[str, Any]]]:
    """Ids of environments with discrete actions, for training scripts that take an id and nothing else.

    There is one for every environment, named game and named stream that needs no settings, such as
    `regret_envs/WeightedRPSDiscrete-v1`, `regret_envs/ShapleyDiscrete-v1`, `regret_envs/GaussianDiscrete-v1`.

    Returns:
        By id, the module and its options.
    """
    found = {name: (entry.module, dict[str, Any]()) for name, entry in ENVIRONMENTS.items()}
    for module, option, makers in (
        ("regret_envs.repeated_game_v1", "game", NAMED_GAMES),
        ("regret_envs.experts_v1", "stream", STREAMS),
    ):
        for name, maker in makers.items():
            if not _needs_settings(maker):
                words = (_ACRONYMS.get(word, word.capitalize()) for word in name.split("_"))
                found.setdefault(f"regret_envs/{''.join(words)}-v1", (module, {option: name}))
    return {
        name.replace("-v", "Discrete-v"): (module, {**options, "action_mode": "discrete"})
        for name, (module, options) in found.items()
    }


_ACRONYMS = {"rps": "RPS", "garch": "GARCH"}


def _needs_settings(maker: Callable[..., Any]) -> bool:
    parameters = inspect.signature(maker).parameters.values()
    return any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def register() -> None:
    """Register the environments with Gymnasium, and with PettingZoo where it has a registry (from 1.27).

    Ids of version 0 stay, as Gymnasium's own do: they have version 0's defaults, and Gymnasium warns of them.
    """
    without_options = {name: (entry.module, dict[str, Any]()) for name, entry in ENVIRONMENTS.items()}
    for name, (module, options) in {**without_options, **presets()}.items():
        for named, defaults in ((name, {}), (name.replace("-v1", "-v0"), version_0.DEFAULTS)):
            gymnasium.register(
                named,
                entry_point=f"{module}:SingleEnv",
                vector_entry_point=f"{module}:vector_env",
                kwargs={**defaults, **options},
            )
    for name, entry in ENVIRONMENTS.items():
        if hasattr(pettingzoo, "register"):
            pettingzoo.register("parallel", name, f"{entry.module}:parallel_env")
            pettingzoo.register("aec", name, f"{entry.module}:env")
    for name, entry in PREDICTION.items():
        gymnasium.register(name, entry_point=entry.module)


def sb3_vec_env(name: str, num_envs: int, **options: Any) -> SB3VecEnv:
    """The environment as a `VecEnv` of Stable-Baselines3, all runs in one array.

    Args:
        name: the id of an environment of the suite, `"regret_envs/BiasedGaussian-v1"`.
        num_envs: runs.
        options: the environment's other than `autoreset_mode`.

    Raises:
        ImportError: if Stable-Baselines3 is missing; says how to install it.
        ValueError: if the environment has no native vector environment.
    """
    try:
        from regret_envs.envs.sb3 import SB3VecEnv
    except ImportError as error:
        raise ImportError('sb3_vec_env needs Stable-Baselines3: pip install "regret-envs[sb3]"') from error
    return SB3VecEnv(_native(name, num_envs, options))


def rsl_rl_env(
    name: str, num_envs: int, *, device: str = "cpu", seed: int | None = None, **options: Any
) -> RslRlVecEnv:
    """The environment as a `VecEnv` of rsl-rl, all runs in one array.

    Args:
        name: the id of an environment of the suite.
        num_envs: runs.
        device: where rsl-rl computes.
        seed: of the first episode.
        options: the environment's other than `autoreset_mode`.

    Raises:
        ImportError: if rsl-rl is missing; says how to install it.
        ValueError: if the environment has no native vector environment.
    """
    try:
        from regret_envs.envs.rsl_rl import RslRlVecEnv
    except ImportError as error:
        raise ImportError('rsl_rl_env needs rsl-rl: pip install "regret-envs[rsl-rl]"') from error
    return RslRlVecEnv(_native(name, num_envs, options), device=device, seed=seed)


def _native(name: str, num_envs: int, options: Mapping[str, Any]) -> VectorPlay:
    batch = gymnasium.make_vec(name, num_envs=num_envs, **{**options, "autoreset_mode": "SameStep"}).unwrapped
    if not isinstance(batch, VectorPlay):
        raise ValueError(f"{name} has no native vector environment")
    return batch


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
