"""Gymnasium's own check of every id, in the lowest version of Gymnasium too."""

import warnings

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from regret_envs.envs import ENVIRONMENTS, presets

OPTIONS = [
    {},
    {"action_mode": "softmax", "feedback": "bandit"},
    {"action_mode": "discrete"},
    {"action_mode": "strict", "feedback": "bandit"},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_check_env_without_warnings(name, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Unbounded losses are shown as such, and Gymnasium remarks on it.
        warnings.filterwarnings("ignore", ".*observation space m(in|ax)imum value is -?infinity")
        environment = gymnasium.make(f"regret_envs:{name}", horizon=20, **options)
        check_env(environment.unwrapped, skip_render_check=True)
        observation, _ = environment.reset(seed=0)
        for t in range(20):
            assert observation in environment.observation_space
            observation, _, terminated, truncated, _ = environment.step(environment.action_space.sample())
            assert (terminated, truncated) == (t == 19, False)


@pytest.mark.parametrize("name", presets())
def test_presets(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*observation space m(in|ax)imum value is -?infinity")
        check_env(gymnasium.make(name).unwrapped, skip_render_check=True)
