"""rsl-rl: PPO on the native vector environment."""

import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")

from regret_envs.envs import rsl_rl_env


def test_the_example(run_example):
    found = dict(re.findall(r"(\w+) +regret per round ([.\d]+)", run_example("train_rsl_rl")))
    assert float(found["ppo"]) < 0.5 * float(found["uniform"])


def test_a_policy_comes_back_as_it_was_trained(example, assert_comes_back):
    rsl_rl = example("train_rsl_rl")
    runner = rsl_rl.train(iterations=15)
    environment = rsl_rl_env(
        "regret_envs/BiasedGaussian-v1", 2_000, horizon=rsl_rl.HORIZON, seed=5, **rsl_rl.STREAM
    )
    policy, returns = runner.get_inference_policy(), torch.zeros(2_000)
    observations = environment.get_observations()
    with torch.inference_mode():
        for t in range(rsl_rl.HORIZON):
            observations, rewards, dones, extras = environment.step(policy(observations))
            returns += rewards
            assert (dones == (t == rsl_rl.HORIZON - 1)).all() and not extras["time_outs"].any()
    assert_comes_back(returns.numpy(), rsl_rl.as_agent(runner))


def test_truncated_rounds_are_time_outs():
    environment = rsl_rl_env("regret_envs/Experts-v1", 3, horizon=2, horizon_ends="truncated", seed=0)
    assert environment.max_episode_length == 2 and environment.num_actions == 3
    for over in (False, True):
        _, _, dones, extras = environment.step(torch.zeros(3, 3))
        assert (extras["time_outs"] == over).all() and (dones == over).all()
    assert (environment.episode_length_buf == 0).all()
