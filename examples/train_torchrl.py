"""TorchRL: 1,024 environments as one batch, and a policy trained by the gradient of its own regret.

    python examples/train_torchrl.py
"""

import time

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from torchrl.envs import GymWrapper

import regret_envs  # noqa: F401 - registers the environments
from regret_envs import biased_gaussian_v0

NUM_ENVS, HORIZON = 1024, 20


def batched() -> GymWrapper:
    """The native vector environment; TorchRL resets it itself."""
    return GymWrapper(
        gymnasium.make_vec(
            "regret_envs/BiasedGaussian-v0",
            num_envs=NUM_ENVS,
            horizon=HORIZON,
            bias_scale=1.0,
            autoreset_mode="Disabled",
        )
    )


if __name__ == "__main__":
    environment = batched()
    print(environment.rollout(HORIZON))
