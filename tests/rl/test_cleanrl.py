"""A training script in CleanRL's conventions: `gym.make(env_id)` and a SyncVectorEnv."""

import re

import gymnasium as gym
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from regret_envs.agents import from_policy


def test_the_command_line_with_an_id_and_nothing_else(run_example):
    printed = run_example("cleanrl_ppo", "--env-id", "regret_envs:regret_envs/BiasedGaussianDiscrete-v1")
    first, last = (float(x) for x in re.findall(r"[-+][.\d]+", printed))
    assert first < 5 < 10 < last  # the best action's expected return of 100 rounds is 30


def test_a_policy_comes_back_as_it_was_trained(example, assert_comes_back):
    cleanrl = example("cleanrl_ppo")
    options = {"horizon": 20, "bias_scale": 1.0}
    args = cleanrl.Args(total_timesteps=30_000)
    agent, _ = cleanrl.train(args, **options)

    def act(observations):
        with torch.no_grad():
            return agent.actor(torch.as_tensor(observations)).argmax(1).numpy()

    envs = gym.vector.SyncVectorEnv([cleanrl.make_env(args.env_id, **options)] * 500)
    observations, returns = envs.reset(seed=7)[0], np.zeros(500)
    for _ in range(20):
        observations, rewards, terminations, truncations, _ = envs.step(act(observations))
        returns += rewards
    assert terminations.all() and not truncations.any()
    assert_comes_back(returns, from_policy(act, action_mode="discrete"))
