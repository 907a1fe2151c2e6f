"""PolicyEvaluation-v0: Gymnasium's own checks, and the same numbers as `predict` finds."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from regret_envs.envs.actions import ActionError
from regret_envs.envs.episodes import EpisodeError
from regret_envs.names import UnknownNameError
from regret_envs.rooms.policy_evaluation.markov import boyan_chains
from regret_envs.rooms.policy_evaluation.problems import predict, value_regret
from regret_envs.rooms.policy_evaluation.value_agents import LSTD, TD0

ID = "regret_envs:regret_envs/PolicyEvaluation-v0"


@pytest.mark.parametrize(
    "settings", [{}, {"features": "one_hot", "num_states": 3, "discount": 0.0, "horizon": 2}]
)
def test_gymnasium_has_no_complaints(settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(ID, **settings).unwrapped
        # The checker's advice to bound actions by [−1, 1] is not ours to take: values reach 1/(1 − γ).
        warnings.filterwarnings("ignore", message=".*action space.*")
        check_env(env)


@pytest.mark.parametrize("agent", [TD0(), LSTD()], ids=lambda agent: type(agent).__name__)
def test_an_episode_is_what_predict_plays(agent):
    env = gymnasium.make(ID, num_states=4, num_features=3, discount=0.7, horizon=25)
    rng = np.random.default_rng(11)
    process = boyan_chains(1, rng=rng, discount=0.7, num_states=4, num_features=3)
    trajectory = process.sample(25, rng=rng)
    expected = predict(agent, trajectory)

    agent.reset(3, discount=0.7, num_runs=1)
    observation, info = env.reset(seed=11)
    regret, truncated, k = 0.0, False, 0
    while not truncated:
        np.testing.assert_allclose(observation[:-1], trajectory.context.features[0, k], atol=1e-7)
        assert info["value"] == trajectory.values[0, k]
        assert info["certainty_equivalence"] == trajectory.online_certainty_equivalence[0, k]
        assert info["floor"] == (info["certainty_equivalence"] - info["value"]) ** 2
        agent.observe(observation[None, :-1].astype(float), observation[-1:].astype(float))
        action = agent.values(observation[None, None, :-1].astype(float))[0]
        np.testing.assert_allclose(action, expected[0, k], atol=1e-4)
        floor, value = info["floor"], info["value"]
        observation, reward, terminated, truncated, info = env.step(action)
        assert reward == pytest.approx(-((action[0] - value) ** 2)) and not terminated
        regret += -reward - floor
        k += 1
    assert k == 25
    assert observation[-1] == np.float32(trajectory.context.rewards[0, -1])
    assert regret == pytest.approx(value_regret(expected, trajectory)[0], abs=1e-2)


def test_episodes_differ_and_seeds_repeat_them():
    env = gymnasium.make(ID)
    first, again = env.reset(seed=3)[0], env.reset()[0]
    assert not np.array_equal(first, again)
    np.testing.assert_array_equal(env.reset(seed=3)[0], first)
    np.testing.assert_array_equal(env.reset()[0], again)


def test_it_runs_in_gymnasiums_vector_environments():
    envs = gymnasium.make_vec(ID, num_envs=3, vectorization_mode="sync", horizon=4)
    observations, infos = envs.reset(seed=0)
    assert observations.shape == (3, 6) and infos["value"].shape == (3,)
    for k in range(4):
        _, rewards, _, truncated, _ = envs.step(np.zeros((3, 1), np.float32))
        assert (rewards <= 0).all() and truncated.all() == (k == 3)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"discount": 1.0}, ValueError, r"discount must lie in \[0, 1\)"),
        ({"num_states": 1}, ValueError, "num_states must be at least 2"),
        ({"num_features": 0}, ValueError, "num_features must be at least 1"),
        ({"features": "onehot"}, UnknownNameError, "did you mean 'one_hot'"),
        ({"horizon": 0}, ValueError, "horizon must be at least 1"),
        ({"num_state": 3}, TypeError, "num_state"),
    ],
)
def test_wrong_settings_are_errors(settings, error, message):
    with pytest.raises(error, match=message):
        gymnasium.make(ID, **settings)


def test_wrong_calls_are_errors_and_change_nothing():
    env = gymnasium.make(ID, horizon=1).unwrapped
    with pytest.raises(EpisodeError, match=r"call reset\(\)"):
        env.step([0.0])
    with pytest.raises(ValueError, match="takes no options"):
        env.reset(options={"size": 3})
    env.reset(seed=0)
    for action in ([np.nan], [0.0, 1.0], "high", None, [np.inf]):
        with pytest.raises(ActionError, match="one finite number"):
            env.step(action)
    assert env.step([0.0])[3]
    with pytest.raises(EpisodeError):
        env.step([0.0])
    with pytest.raises(ValueError, match="render_mode must be None"):
        type(env)(render_mode="human")
