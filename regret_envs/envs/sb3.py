"""The native vector environment as a `VecEnv` of Stable-Baselines3; needs the extra sb3."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv

from regret_envs.envs.vector import VectorPlay

Batch = npt.NDArray[Any]


class SB3VecEnv(VecEnv):  # type: ignore[misc] # SB3 may be missing where types are checked
    """A `VectorPlay` with autoreset mode "SameStep", as Stable-Baselines3 steps environments.

    Infos are empty but in an episode's last round, where they hold `terminal_observation` and
    `TimeLimit.truncated`. Attributes and settings are shared by all runs.

    Args:
        batch: the environment.
    """

    def __init__(self, batch: VectorPlay) -> None:
        self.batch = batch
        super().__init__(batch.num_envs, batch.single_observation_space, batch.single_action_space)
        self._actions: npt.ArrayLike = ()

    def reset(self) -> npt.NDArray[np.float32]:
        """Begin an episode of every run; after `seed(s)` that of `VectorPlay.reset(seed=s)`."""
        observations, _ = self.batch.reset(seed=self._seeds[0])
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: Batch) -> None:
        """Take the actions of a round."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], Batch, list[dict[str, Any]]]:
        """Play the round: observations, rewards, dones and infos."""
        observations, rewards, terminations, truncations, infos = self.batch.step(self._actions)
        rounds: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if "final_obs" in infos:
            for info, last, truncated in zip(rounds, infos["final_obs"], truncations.tolist(), strict=True):
                info |= {"terminal_observation": last, "TimeLimit.truncated": truncated}
        return observations, rewards.astype(np.float32), terminations | truncations, rounds

    def close(self) -> None:
        """Close the environment."""
        self.batch.close()

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """The attribute of the runs."""
        return list(self.batch.get_attr(attr_name)[: len([*self._get_indices(indices)])])

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Set an attribute of all runs.

        Raises:
            ValueError: if only some runs are named.
        """
        if len([*self._get_indices(indices)]) < self.num_envs:
            raise ValueError(f"the runs of a batch share their settings: set {attr_name} for all of them")
        self.batch.set_attr(attr_name, value)

    def env_method(
        self, method_name: str, *args: Any, indices: int | Iterable[int] | None = None, **kwargs: Any
    ) -> list[Any]:
        """What the method of the runs returns."""
        returned = self.batch.call(method_name, *args, **kwargs)
        return list(returned[: len([*self._get_indices(indices)])])

    def env_is_wrapped(
        self,
        wrapper_class: type[Any],
        indices: int | Iterable[int] | None = None,
    ) -> list[bool]:
        """False: no run has a wrapper of its own."""
        return [False for _ in self._get_indices(indices)]
