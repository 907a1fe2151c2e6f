"""Version 0 of the environments: version 1 with the defaults of before."""

import gymnasium
import numpy as np
import pytest

from regret_envs import biased_gaussian_v0, biased_gaussian_v1, repeated_game_v0, weighted_rps_v0
from regret_envs.envs import ENVIRONMENTS, presets

ACTION = np.array([0.2, 0.3, 0.5], dtype=np.float32)


@pytest.mark.parametrize("name", [*ENVIRONMENTS, *presets()])
def test_ids_of_version_0_stay(name):
    old = name.replace("-v1", "-v0")
    with pytest.warns(DeprecationWarning, match="out of date"):
        environment = gymnasium.make(old, horizon=6)
    unwrapped = environment.unwrapped
    assert unwrapped.action_mode == ("discrete" if "Discrete" in name else "normalize")
    environment.reset(seed=0)
    for over in [False] * 5 + [True]:
        assert environment.step(environment.action_space.sample())[2:4] == (False, over)
    chosen = {"action_mode": unwrapped.action_mode, "horizon_ends": "truncated", "horizon": 6}
    new = gymnasium.make(name, **chosen)
    np.testing.assert_equal(environment.reset(seed=3), new.reset(seed=3))


def test_modules_of_version_0_stay():
    with pytest.warns(DeprecationWarning, match="out of date"):
        vector = gymnasium.make_vec("regret_envs/WeightedRPS-v0", num_envs=2)
    for made in (vector, weighted_rps_v0.SingleEnv(), weighted_rps_v0.vector_env(2)):
        assert made.action_mode == "normalize"
    for form in (repeated_game_v0.parallel_env, repeated_game_v0.env, repeated_game_v0.raw_env):
        assert str(form(game="jordan")) == "repeated_game_v0"
    old, new = biased_gaussian_v0.parallel_env(horizon=1), biased_gaussian_v1.parallel_env(horizon=1)
    assert str(new) == "biased_gaussian_v1" and old.action_mode == "normalize"
    old.reset(seed=0)
    new.reset(seed=0)
    actions = dict.fromkeys(old.agents, ACTION)
    old, new = old.step(actions), new.step({agent: np.log(ACTION) / 10 for agent in actions})
    np.testing.assert_allclose(old[1]["player_0"], new[1]["player_0"], rtol=1e-6)
    assert all(old[3].values()) and not any(old[2].values())
    assert all(new[2].values()) and not any(new[3].values())
