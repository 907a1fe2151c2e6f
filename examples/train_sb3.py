"""Stable-Baselines3: PPO through SuperSuit on a PettingZoo environment; then, in this folder, in one table.

python train_sb3.py
regret-envs run --suite paper --agents hedge,swap-attention,train_sb3:trained
"""

import supersuit
from stable_baselines3 import PPO
from stable_baselines3.common.utils import set_random_seed

from regret_envs import biased_gaussian_v1, simulate, streams
from regret_envs.agents import Agent, Hedge, Uniform, from_sb3

STREAM = {"bias_scale": 1.0}
HORIZON = 20
FILE = "ppo_biased_gaussian.zip"


def train(seed: int = 0, steps: int = 40_000) -> PPO:
    """PPO on 8 copies of an environment in which two agents face the same biased Gaussian losses."""
    environment = biased_gaussian_v1.parallel_env(num_agents=2, horizon=HORIZON, **STREAM)
    environment = supersuit.pettingzoo_env_to_vec_env_v1(environment)
    environment = supersuit.concat_vec_envs_v1(environment, 8, base_class="stable_baselines3")
    environment.venv.reset(seed=seed)  # SuperSuit passes on no later seed; the copies go on from this one
    set_random_seed(seed)
    model = PPO("MlpPolicy", environment, n_steps=128, batch_size=512, gamma=0.5, device="cpu")
    return model.learn(steps)


def trained() -> Agent:
    """The agent that the command line above names."""
    return from_sb3(PPO.load(FILE, device="cpu"))


if __name__ == "__main__":
    model = train()
    model.save(FILE)
    for agent in (from_sb3(model), Hedge(), Uniform()):
        play = simulate(streams.BiasedGaussian(3, **STREAM), agent, horizon=HORIZON, num_runs=4096, seed=1)
        print(f"{agent!r:45} regret per round {play.regret()[0].mean() / HORIZON:.4f}")
