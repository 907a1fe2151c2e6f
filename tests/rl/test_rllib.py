"""RLlib: PPO, short runs."""

import re

import pytest

pytest.importorskip("ray.rllib")


def test_ppo_in_a_three_player_game(run_example):
    printed = run_example("train_rllib")
    means = re.findall(r"(player_\d): mean return of an episode ([-+.\d]+)", printed)
    assert {player for player, _ in means} == {"player_0", "player_1", "player_2"}
    assert all(abs(float(mean)) <= 20 for _, mean in means)


def test_a_policy_on_a_remote_runner_learns_and_comes_back_as_it_was_trained(example, assert_comes_back):
    rllib = example("train_rllib_gymnasium")
    algorithm = rllib.configuration().build_algo()
    for _ in range(10):
        algorithm.train()
    (returns,) = algorithm.env_runner_group.foreach_env_runner(
        lambda runner: [e.get_return() for e in runner.sample(num_episodes=600, explore=False)],
        local_env_runner=False,
    )
    agent = rllib.as_agent(algorithm)
    algorithm.stop()
    assert len(returns) >= 600
    assert_comes_back(returns, agent)


def test_aec_environments():
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
    from ray.tune import register_env

    from regret_envs import weighted_rps_v1

    register_env("rps", lambda _: PettingZooEnv(weighted_rps_v1.env(horizon=5, action_mode="discrete")))
    algorithm = (
        PPOConfig()
        .environment("rps")
        .env_runners(num_env_runners=0)
        .training(train_batch_size=100, minibatch_size=50, num_epochs=1)
        .multi_agent(policies={"player_0", "player_1"}, policy_mapping_fn=lambda player, *_, **__: player)
        .build_algo()
    )
    result = algorithm.train()
    algorithm.stop()
    means = result["env_runners"]["agent_episode_returns_mean"]
    assert means["player_0"] + means["player_1"] == pytest.approx(0, abs=1e-6)
