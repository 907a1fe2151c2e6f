"""RLlib: PPO on a Gymnasium id, which a remote runner plays as one batch of 16 runs."""

import gymnasium
import numpy as np
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig

from regret_envs.agents import from_policy

NAME = "regret_envs:regret_envs/BiasedGaussian-v1"
OPTIONS = {"horizon": 20, "bias_scale": 1.0}


def configuration(seed: int = 0) -> PPOConfig:
    return (
        PPOConfig()
        .environment(NAME, env_config=OPTIONS)
        .framework("torch")
        .env_runners(
            num_env_runners=1,
            num_envs_per_env_runner=16,
            gym_env_vectorize_mode=gymnasium.VectorizeMode.VECTOR_ENTRY_POINT,
        )
        .training(train_batch_size=1600, minibatch_size=320, num_epochs=8, lr=3e-3, gamma=0.5)
        .debugging(seed=seed)
    )


def as_agent(algorithm: Algorithm):
    """It plays the mean actions, which RLlib's runners bring from [-1, 1] to the action space."""
    module = algorithm.get_module()
    box = gymnasium.make(NAME, **OPTIONS).action_space

    def act(observations):
        with torch.no_grad():
            head = module.forward_inference({"obs": torch.as_tensor(observations)})["action_dist_inputs"]
        mean = np.clip(head[:, : box.shape[0]].numpy(), -1, 1)
        return box.low + (mean + 1) / 2 * (box.high - box.low)

    return from_policy(act, action_mode="softmax", num_actions=3)


if __name__ == "__main__":
    algorithm = configuration().build_algo()
    for _ in range(10):
        result = algorithm.train()
    print(f"mean return of an episode: {result['env_runners']['episode_return_mean']:+.2f} (uniform play: 0)")
    algorithm.stop()
