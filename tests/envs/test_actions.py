"""Actions to policies, and the errors of actions that cannot be played."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from regret_envs.envs.actions import ActionError, ActionMap
from regret_envs.envs.spaces import Simplex

boxes = arrays(np.float64, (3, 4), elements=st.floats(-2, 2))


@given(boxes)
def test_every_box_maps_to_the_simplex(actions):
    for mode in ("normalize", "softmax", "project"):
        policies = ActionMap(4, mode)(actions, who="p")
        assert policies.shape == (3, 4) and policies.min() >= 0
        assert np.abs(policies.sum(1) - 1).max() < 1e-12


def test_normalize_clips_and_takes_nothing_for_uniform():
    actions = [[1.0, -3.0, 3.0], [0.0, 0.0, 0.0], [-1.0, -1.0, 0.0]]
    expected = [[0.25, 0, 0.75], [1 / 3] * 3, [1 / 3] * 3]
    np.testing.assert_allclose(ActionMap(3, "normalize")(actions, who="p"), expected, atol=1e-15)


def test_softmax_with_its_logit_scale():
    x = np.array([[1.0, -1.0, -1.0]])
    for scale, largest in [(1.0, np.e / (np.e + 2 / np.e)), (10.0, 1 / (1 + 2 * np.exp(-20)))]:
        policy = ActionMap(3, "softmax", logit_scale=scale)(x, who="p")
        assert policy[0, 0] == pytest.approx(largest, rel=1e-12)


def test_project_is_the_nearest_point():
    rng = np.random.default_rng(0)
    for x in rng.uniform(0, 1, (5, 4)):
        nearest = minimize(
            lambda p, x=x: ((p - x) ** 2).sum(),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14},
        ).x
        np.testing.assert_allclose(ActionMap(4, "project")(x[None], who="p")[0], nearest, atol=1e-6)


def test_strict_and_discrete_pass_on_what_they_are_given():
    policies = np.random.default_rng(1).dirichlet(np.ones(5), 7)
    np.testing.assert_allclose(ActionMap(5, "strict")(policies, who="p"), policies, atol=1e-15)
    assert (ActionMap(3, "discrete")([2, 0], who="p") == [[0, 0, 1], [1, 0, 0]]).all()


def test_spaces():
    spaces = [ActionMap(3, mode).space for mode in ("normalize", "softmax", "project", "strict", "discrete")]
    unit = Box(0, 1, (3,), np.float32)
    assert spaces == [unit, Box(-1, 1, (3,), np.float32), unit, Simplex(3), Discrete(3)]


@pytest.mark.parametrize(
    ("mode", "action", "message"),
    [
        ("normalize", [[0.5, 0.5]], r"player_1 has shape \(2,\): .* takes 3 numbers"),
        ("normalize", [0.5], r"player_1 has shape \(\)"),
        ("normalize", [["rock", "paper", "scissors"]], "player_1 must be 3 numbers"),
        ("normalize", [[0.5, 0.5], [0.5]], "player_1 must be 3 numbers"),
        ("softmax", [[0.5, np.nan, 0.1]], "player_1 is not finite: .*diverged"),
        ("project", [[0, 0, 0], [0.5, np.inf, 0.1]], "player_1 is not finite in row 1"),
        ("strict", [[0.5, 0.4, 0.2]], r"player_1 is off the simplex: .*sum 1.1.*action_mode='normalize'"),
        ("strict", [[1.5, -0.5, 0]], "minimum -0.5"),
        ("strict", [[np.nan, 0.5, 0.5]], "not finite"),
        ("discrete", [3], r"player_1 is 3: pure actions are 0 … 2"),
        ("discrete", [0, -1], r"player_1 is -1 in row 1"),
        ("discrete", [0.5], "player_1 must be an integer"),
        ("discrete", [[1, 0, 0]], "player_1 must be an integer.*choose another mode"),
    ],
)
def test_bad_actions(mode, action, message):
    with pytest.raises(ActionError, match=message):
        ActionMap(3, mode)(action, who="player_1")


def test_bad_settings():
    with pytest.raises(ValueError, match="unknown action_mode 'sofmax': did you mean 'softmax'"):
        ActionMap(3, "sofmax")
    with pytest.raises(ValueError, match="logit_scale must be positive"):
        ActionMap(3, logit_scale=0.0)


@pytest.mark.parametrize("mode", ["normalize", "softmax", "project", "strict"])
@pytest.mark.filterwarnings("error")
def test_numbers_near_the_largest(mode):
    actions = ActionMap(3, mode)
    huge = [[1e308, 1e308, 0.0], [1e308, 1e308, -1e308], [1e308, 1.7e308, 1e307]]
    if mode == "strict":
        with pytest.raises(ActionError, match="off the simplex"):
            actions(huge, who="player_0")
        return
    largest = [0, 1, 0]
    expected = {
        "normalize": [[0.5, 0.5, 0], [0.5, 0.5, 0], np.array([10, 17, 1]) / 28],
        "softmax": [[0.5, 0.5, 0], [0.5, 0.5, 0], largest],
        "project": [[0.5, 0.5, 0], [0.5, 0.5, 0], largest],
    }[mode]
    np.testing.assert_allclose(actions(huge, who="player_0"), expected, atol=1e-15)


@pytest.mark.parametrize("mode", ["normalize", "softmax", "project"])
@pytest.mark.parametrize("action", [[1e308, -1e308, 0.0], [5e307, 0.0, 0.0], [1e160, -1e160, 0.0]])
@pytest.mark.filterwarnings("error")
def test_large_numbers_whose_sum_is_moderate(mode, action):
    np.testing.assert_array_equal(ActionMap(3, mode)([action], who="player_0"), [[1, 0, 0]])


@pytest.mark.filterwarnings("error")
def test_masses_whose_sum_is_too_large():
    actions = ActionMap(4, "normalize")([[1e308, 1e308, -1e308, -1e308]], who="player_0")
    np.testing.assert_allclose(actions, [[0.5, 0.5, 0, 0]])
