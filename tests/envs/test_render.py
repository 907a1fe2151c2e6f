"""Pictures and lines."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from pettingzoo.test import render_test

from regret_envs import experts_v1, weighted_rps_v1
from regret_envs.envs.parallel import EpisodeError


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")


@pytest.mark.parametrize(
    ("module", "options"),
    [
        (weighted_rps_v1, {"opponents": {"player_1": "hedge"}}),
        (experts_v1, {"num_agents": 2, "num_actions": 12}),
    ],
)
def test_pettingzoo(module, options):
    with warnings.catch_warnings():
        # Without a display matplotlib says that it shows nothing.
        warnings.filterwarnings("ignore", message=".*non-interactive.*")
        render_test(lambda render_mode: module.env(horizon=5, render_mode=render_mode, **options))


def test_pictures_change_with_play():
    environment = gymnasium.make("regret_envs/WeightedRPS-v1", render_mode="rgb_array", horizon=3)
    environment.reset(seed=0)
    before = environment.render()
    environment.step([0.0, 0.2, 0.8])
    after = environment.render()
    assert before.shape == after.shape and before.dtype == np.uint8
    # The last policy is a crimson dot, in the third of the picture that is the first player's.
    red = (after[..., 0] > 200) & (after[..., 1] < 60) & (after[..., 2] < 100)
    assert (
        red[:, : after.shape[1] // 3].any()
        and not ((before[..., 0] > 200) & (before[..., 1] < 60) & (before[..., 2] < 100)).any()
    )
    environment.close()


def test_a_line_a_round():
    environment = gymnasium.make("regret_envs/WeightedRPS-v1", render_mode="ansi", horizon=3)
    environment.reset(seed=0)
    assert environment.render() == "round 0/3"
    environment.step([1.0, 0.0, 0.0])
    # Rock against uniform play loses (0 + 1 − 2)/9; the column's losses against rock are (0, −1, 2)/3.
    rock = "player_0 [1.00 0.00 0.00] loss -0.111 regret +0.000"
    hedge = "player_1 (Hedge) [0.33 0.33 0.33] loss +0.111 regret +0.444"
    assert environment.render() == f"round 1/3 | {rock} | {hedge}"


def test_no_drawing_library_without_a_picture():
    code = """
import sys
from regret_envs import weighted_rps_v1
environment = weighted_rps_v1.parallel_env(horizon=1, render_mode="ansi")
environment.reset(seed=0)
environment.render()
weighted_rps_v1.parallel_env(render_mode="rgb_array")
assert not {"matplotlib", "torch", "pandas", "scipy.stats", "ray"} & set(sys.modules)
sys.modules["matplotlib"] = None
environment = weighted_rps_v1.parallel_env(render_mode="rgb_array")
environment.reset(seed=0)
try:
    environment.render()
except ImportError as error:
    assert 'pip install "regret-envs[plot]"' in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rendering_before_reset_says_what_to_do():
    env = gymnasium.make("regret_envs/Experts-v1", render_mode="ansi").unwrapped
    with pytest.raises(EpisodeError, match=r"nothing to render yet: call reset\(\)"):
        env.render()
