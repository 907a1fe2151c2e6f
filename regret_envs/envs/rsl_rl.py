"""The native vector environment as a `VecEnv` of rsl-rl; needs the extra rsl-rl."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from regret_envs.envs.vector import VectorPlay

Step = tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]


class RslRlVecEnv(VecEnv):  # type: ignore[misc] # rsl-rl may be missing where types are checked
    """A `VectorPlay` with autoreset mode "SameStep", as rsl-rl's runners step environments.

    Observations are the group "policy". Actions of rsl-rl are unbounded: choose an `action_mode` that maps
    all numbers, "softmax" or "normalize".

    Args:
        batch: the environment.
        device: where observations and rewards go; the environment itself computes on the CPU.
        seed: of the first episode.
    """

    def __init__(self, batch: VectorPlay, *, device: str = "cpu", seed: int | None = None) -> None:
        self.batch = batch
        self.num_envs = batch.num_envs
        self.num_actions = int(np.prod(batch.single_action_space.shape or ()))
        self.max_episode_length = batch.horizon
        self.device = device
        self.cfg: dict[str, Any] = {}
        self.episode_length_buf = torch.zeros(self.num_envs, dtype=torch.long, device=device)
        self._observations = self._tensors(batch.reset(seed=seed)[0])

    def get_observations(self) -> TensorDict:
        """The current observations."""
        return self._observations

    def step(self, actions: torch.Tensor) -> Step:
        """Play a round: observations, rewards, dones, and the time-outs of rounds that truncate."""
        played = self.batch.step(actions.detach().cpu().numpy())
        observations, rewards, terminations, truncations, _ = played
        dones = torch.from_numpy(terminations | truncations).to(self.device)
        self.episode_length_buf = torch.where(dones, 0, self.episode_length_buf + 1)
        self._observations = self._tensors(observations)
        return (
            self._observations,
            torch.from_numpy(rewards).to(self.device, torch.float32),
            dones.long(),
            {"time_outs": torch.from_numpy(truncations).to(self.device)},
        )

    def _tensors(self, observations: npt.NDArray[np.float32]) -> TensorDict:
        tensor = torch.from_numpy(observations).to(self.device)
        return TensorDict({"policy": tensor}, batch_size=[self.num_envs])
