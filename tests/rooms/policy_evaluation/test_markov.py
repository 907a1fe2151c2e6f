"""Markov reward processes against iteration, dynamic programming and the law of large numbers."""

import numpy as np
import pytest

from regret_envs.names import UnknownNameError
from regret_envs.rooms.policy_evaluation.markov import (
    Context,
    EmpiricalModel,
    MarkovRewardProcess,
    boyan_chains,
)


def chains(num_runs=40, seed=0, **settings):
    return boyan_chains(num_runs, rng=np.random.default_rng(seed), **{"discount": 0.8, **settings})


def test_boyan_chains_have_the_stated_laws():
    process = chains(4000, num_states=6, num_features=3)
    p = process.transitions
    np.testing.assert_allclose(p.sum(2), 1.0)
    for i in range(4):
        step = p[:, i, i + 1]
        assert 0.01 <= step.min() < 0.02 and 0.98 < step.max() <= 0.99
        assert abs(step.mean() - 0.5) < 5 * 0.98 / np.sqrt(12 * 4000)
        np.testing.assert_allclose(p[:, i, i + 2], 1 - step)
        assert np.count_nonzero(p[:, i]) == 2 * 4000
    np.testing.assert_array_equal(p[:, 4], np.tile(np.eye(6)[5], (4000, 1)))
    assert (p[:, 5] > 0).all()
    for drawn in (process.rewards, process.features):
        assert -1 <= drawn.min() < -0.99 and 0.99 < drawn.max() <= 1
        assert abs(drawn.mean()) < 5 / np.sqrt(3 * drawn.size)
    assert process.features.shape == (4000, 6, 3)
    np.testing.assert_array_equal(chains(2, num_states=4, features="one_hot").features, [np.eye(4)] * 2)


def test_values_are_the_limit_of_value_iteration():
    process = chains(num_states=7)
    v = np.zeros_like(process.rewards)
    for _ in range(200):
        v = process.rewards + 0.8 * np.einsum("bij,bj->bi", process.transitions, v)
    np.testing.assert_allclose(process.values, v, atol=1e-12)


def test_the_stationary_distribution_is_what_a_long_trajectory_visits():
    process = chains(5, num_states=4)
    mu = process.stationary
    np.testing.assert_allclose(np.einsum("bi,bij->bj", mu, process.transitions), mu, atol=1e-14)
    states = process.sample(40_000, rng=np.random.default_rng(1)).states
    visited = np.stack([np.bincount(s, minlength=4) for s in states]) / states.shape[1]
    np.testing.assert_allclose(visited, mu, atol=0.02)


def test_trajectories_begin_in_the_stationary_distribution_and_follow_the_transitions():
    one = chains(1, num_states=4)
    many = MarkovRewardProcess(
        *(np.repeat(a, 20_000, 0) for a in (one.transitions, one.rewards, one.features)), 0.8
    )
    states = many.sample(2, rng=np.random.default_rng(2)).states
    for k in range(3):
        share = np.bincount(states[:, k], minlength=4) / 20_000
        np.testing.assert_allclose(share, one.stationary[0], atol=5 * 0.5 / np.sqrt(20_000))
    pairs = np.zeros((4, 4))
    np.add.at(pairs, (states[:, 0], states[:, 1]), 1)
    np.testing.assert_allclose(pairs / pairs.sum(1, keepdims=True), one.transitions[0], atol=0.04)


def test_the_mean_square_value_error_is_weighted_by_the_stationary_distribution():
    process = MarkovRewardProcess([[[0.5, 0.5], [1.0, 0.0]]], [[1.0, -1.0]], [[[1.0], [2.0]]], 0.0)
    # μ = (2/3, 1/3); with γ = 0 the values are the rewards.
    errors = process.mean_square_value_error(np.array([[[1.0, -1.0]], [[4.0, 0.0]]]))
    np.testing.assert_allclose(errors, [[0.0], [2 / 3 * 9 + 1 / 3]])


def test_certainty_equivalence_is_the_value_of_the_counted_process():
    trajectory = chains(6, num_states=5).sample(30, rng=np.random.default_rng(3))
    for run in range(6):
        s, r = trajectory.states[run], trajectory.context.rewards[run]
        v = np.zeros(5)
        for _ in range(300):
            after = [r[s[:-1] == i] + 0.8 * v[s[1:][s[:-1] == i]] for i in range(5)]
            v = np.array([np.mean(a) if a.size else 0.0 for a in after])
        np.testing.assert_allclose(trajectory.certainty_equivalence[run], v, atol=1e-12)


def test_online_certainty_equivalence_knows_only_the_past():
    process = chains(3)
    trajectory = process.sample(12, rng=np.random.default_rng(4))
    online = trajectory.online_certainty_equivalence
    np.testing.assert_array_equal(online[:, 0], 0.0)
    for k in range(1, 13):
        prefix = type(trajectory)(process, trajectory.states[:, : k + 1])
        now = trajectory.states[:, k, None]
        expected = np.take_along_axis(prefix.certainty_equivalence, now, 1)[:, 0]
        np.testing.assert_allclose(online[:, k], expected, atol=1e-13)


def test_the_empirical_model_averages_noisy_rewards():
    model = EmpiricalModel(1, 2)
    for reward, after in ((1.0, 0), (4.0, 1)):
        model.observe(np.array([0]), np.array([reward]), np.array([after]))
    # r̂(0) = 2.5, p̂(0 → 0) = 1/2, and state 1 was never left.
    np.testing.assert_allclose(model.values(0.5), [[2.5 / 0.75, 0.0]])


GOOD = {"transitions": np.full((1, 2, 2), 0.5), "rewards": np.zeros((1, 2)), "features": np.zeros((1, 2, 3))}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"discount": 1.0}, r"discount must lie in \[0, 1\), got 1.0"),
        ({"discount": -0.1}, "discount"),
        ({"discount": float("nan")}, "discount"),
        (
            {"features": np.zeros((1, 3, 2))},
            r"features \(1, 2, num_features\); got \(1, 2\) and \(1, 3, 2\)",
        ),
        (
            {"features": np.zeros((2, 3))},
            r"features must have shape \(num_runs, num_states, num_features\), got \(2, 3\)",
        ),
        ({"rewards": np.zeros((1, 3))}, r"rewards must have shape \(1, 2\)"),
        ({"rewards": np.array([[0.0, np.inf]])}, r"rewards\[0, 1\] is inf"),
        ({"transitions": np.full((1, 2, 3), 1 / 3)}, "square"),
        ({"transitions": np.full((1, 2, 2), 0.6)}, "run 0 out of state 0"),
        ({"transitions": np.array([[[1.5, -0.5], [0.5, 0.5]]])}, "distribution"),
    ],
)
def test_a_wrong_process_is_an_error_that_says_where(change, message):
    with pytest.raises(ValueError, match=message):
        MarkovRewardProcess(**{**GOOD, "discount": 0.5, **change})


@pytest.mark.parametrize(
    ("features", "rewards", "message"),
    [
        (np.zeros((1, 1, 2)), np.zeros((1, 0)), "at least one transition, got n = 0"),
        (np.zeros((1, 3, 2)), np.zeros((1, 3)), r"features of shape \(1, 4, num_features\)"),
        (np.zeros((3, 2)), np.zeros((1, 2)), "features must have shape"),
        (np.zeros((1, 3, 2)), np.array([[0.0, np.nan]]), r"rewards\[0, 1\] is nan"),
        (np.full((1, 3, 2), np.inf), np.zeros((1, 2)), "features must be finite"),
    ],
)
def test_a_wrong_context_is_an_error_that_says_where(features, rewards, message):
    with pytest.raises(ValueError, match=message):
        Context(features, rewards)


def test_wrong_settings_are_errors():
    with pytest.raises(ValueError, match="num_transitions must be at least 1"):
        chains().sample(0, rng=np.random.default_rng(0))
    with pytest.raises(UnknownNameError, match="did you mean 'one_hot'"):
        chains(features="onehot")
    with pytest.raises(ValueError, match="num_states must be at least 2"):
        chains(num_states=1)
    with pytest.raises(ValueError, match="more than one stationary"):
        MarkovRewardProcess([np.eye(2)], [[0.0, 0.0]], [[[1.0], [1.0]]], 0.5).stationary  # noqa: B018
