"""sb3-contrib: recurrent and masked policies come back as they were trained."""

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from sb3_contrib import TRPO, MaskablePPO, RecurrentPPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy as evaluate_masked
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor

from regret_envs import simulate, streams
from regret_envs.agents import Uniform, from_sb3
from regret_envs.envs import sb3_vec_env

BIASED = {"bias_scale": 1.0}


@pytest.mark.parametrize(
    ("algorithm", "policy", "action_mode", "settings"),
    [
        (
            RecurrentPPO,
            "MlpLstmPolicy",
            "normalize",
            {"batch_size": 320, "learning_rate": 3e-3, "gamma": 0.5},
        ),
        (MaskablePPO, "MlpPolicy", "discrete", {"batch_size": 320, "learning_rate": 3e-3}),
        (TRPO, "MlpPolicy", "softmax", {"batch_size": 320}),
    ],
)
def test_return_and_regret_of_a_trained_model(algorithm, policy, action_mode, settings):
    environment = VecMonitor(
        sb3_vec_env("regret_envs/BiasedGaussian-v1", 32, horizon=20, action_mode=action_mode, **BIASED)
    )
    model = algorithm(policy, environment, n_steps=20, seed=0, device="cpu", **settings).learn(15_000)
    evaluate = evaluate_masked if algorithm is MaskablePPO else evaluate_policy
    returns, _ = evaluate(model, environment, 1_000, return_episode_rewards=True)
    world = streams.BiasedGaussian(3, **BIASED)
    play, uniform = (
        simulate(world, agent, horizon=20, num_runs=1_000, seed=3) for agent in (from_sb3(model), Uniform())
    )
    ours = -np.trace(play.play_losses[0], axis1=1, axis2=2)
    assert abs(np.mean(returns) - ours.mean()) < 4 * np.hypot(np.std(returns), ours.std()) / np.sqrt(1_000)
    gain = uniform.regret("external") - play.regret("external")
    assert gain.mean() > 4 * gain.std() / np.sqrt(1_000)


def test_a_recurrent_model_remembers():
    """Its state makes a difference: the first round of a run is played alike whatever went before."""
    environment = sb3_vec_env("regret_envs/BiasedGaussian-v1", 4, horizon=6)
    agent = from_sb3(RecurrentPPO("MlpLstmPolicy", environment, n_steps=6, seed=0, device="cpu"))
    agent.reset(3, horizon=6, num_runs=2, rng=np.random.default_rng(0))
    first = agent.act().copy()
    observations = agent._observer.observations()
    remembered = agent.policy(observations)
    agent.policy.reset(2)
    forgotten = agent.policy(observations)
    assert np.abs(remembered - forgotten).max() > 1e-6
    agent.reset(3, horizon=6, num_runs=2, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(agent.act(), first)
