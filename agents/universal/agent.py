"""A regret-trained policy as an agent, without torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.agents.universal.features import LossFeatures
from regret_envs.agents.universal.network import SHAPES, Network
from regret_envs.arrays import FloatArray

SHIPPED = Path(__file__).parent / "weights"


def read_weights(path: Path) -> dict[str, FloatArray]:
    """The network's parameters from an `.npz` file, as float64; nothing in it is run.

    Raises:
        ValueError: if it is not such a file, or a parameter is missing, of the wrong shape or not finite;
            names the file and the parameter.
        FileNotFoundError: if there is no such file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: np.asarray(file[name], dtype=np.float64) for name in file.files}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} does not hold the weights of a universal policy: {error}") from error
    for name, shape in SHAPES.items():
        if name not in found:
            raise ValueError(f"{path} lacks the parameter {name!r}")
        if found[name].shape != shape or not np.isfinite(found[name]).all():
            raise ValueError(f"{path}: {name!r} must be finite and of shape {shape}, got {found[name].shape}")
    if extra := sorted(found.keys() - SHAPES.keys()):
        raise ValueError(f"{path} has unknown parameters: {', '.join(extra)}")
    return found


@cache
def _shipped(name: str) -> dict[str, FloatArray]:
    return read_weights(SHIPPED / f"{name}.npz")


@dataclass(eq=False)
class Universal(Agent):
    """A policy trained with regret loss that plays any number of actions, any horizon, any scale of losses.

    Permuting the actions permutes its play; adding a constant to a round's losses, or multiplying all
    losses by a positive one, changes nothing. It keeps O(d) numbers per run, and a round costs O(d).

    Args:
        weights: "universal" (trained on external regret) or "universal-swap" (on swap regret), which come
            with the package, or the path of an `.npz` file that `regret-envs train universal` wrote.

    Raises:
        ValueError: if the file's content is not such a policy's weights.
        FileNotFoundError: if there is no such file.

    It has no guarantee: `Hedged` gives it one.
    """

    weights: str = "universal"

    def __post_init__(self) -> None:
        path = Path(self.weights)
        self._network = Network(read_weights(path) if path.suffix == ".npz" else _shipped(self.weights))

    def __repr__(self) -> str:
        return f"Universal({self.weights!r})"

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Forget all losses."""
        self._features = LossFeatures(num_actions, horizon, num_runs)

    def act(self) -> FloatArray:
        """What the network makes of the losses so far."""
        return self._network.policies(self._features).T

    def observe(self, losses: FloatArray) -> None:
        """Renew the features."""
        self._features.observe(np.asarray(losses, dtype=np.float64).T)
