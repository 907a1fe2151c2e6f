"""Uniform, fixed and leader-following play."""

from __future__ import annotations

import numpy as np
import pytest

from regret_envs import games, simulate, streams
from regret_envs.agents import FixedPolicy, FollowTheLeader, Uniform


def test_uniform_on_weighted_rock_paper_scissors():
    gaps = simulate(games.weighted_rps(), [Uniform(), Uniform()], horizon=20).gaps()
    for gap in (gaps.cce, gaps.ce, gaps.swap):
        assert gap.max == pytest.approx([1 / 9], abs=1e-12)


def test_a_fixed_policy_at_the_equilibrium_leaves_nothing_to_gain():
    equilibrium = FixedPolicy((1 / 2, 1 / 3, 1 / 6))
    play = simulate(games.weighted_rps(), [equilibrium, FixedPolicy([1 / 2, 1 / 3, 1 / 6])], horizon=3)
    assert play.gaps().swap.max == pytest.approx([0.0], abs=1e-12)
    assert np.allclose(play.mean_policies[0], [[1 / 2, 1 / 3, 1 / 6]])


@pytest.mark.parametrize("policy", [(0.5, 0.6), (1.5, -0.5), [[0.5, 0.5]], (), (float("nan"), 1.0)])
def test_a_fixed_policy_is_one_row_on_the_simplex(policy):
    with pytest.raises(ValueError, match="policy must be one row on the simplex"):
        FixedPolicy(policy)


def test_a_fixed_policy_has_its_number_of_actions():
    agent = FixedPolicy((0.25, 0.75))
    assert agent.unsupported(2, horizon=None) is None
    assert agent.unsupported(3, horizon=5) == "the policy has 2 actions, the task 3"
    with pytest.raises(ValueError, match="the policy has 2 actions, the task 3"):
        simulate(streams.Gaussian(3), agent, horizon=2)


def test_follow_the_leader_breaks_ties_to_the_lowest_index():
    agent = FollowTheLeader()
    agent.reset(3, horizon=None, num_runs=2, rng=np.random.default_rng(0))
    assert np.allclose(agent.act(), 1 / 3)
    agent.observe(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5]]))
    assert np.array_equal(agent.act(), [[0, 1, 0], [1, 0, 0]])
    agent.observe(np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.4]]))
    assert np.array_equal(agent.act(), [[0, 0, 1], [0, 0, 1]])


def test_follow_the_leader_is_linear_on_the_alternating_stream():
    # It loses 1/d in the first round and 1 in each later one; the best action loses ⌊T / d⌋.
    for d, horizon in [(2, 101), (3, 60)]:
        play = simulate(streams.Alternating(d), FollowTheLeader(), horizon=horizon)
        assert play.regret("external").item() == pytest.approx(1 / d + horizon - 1 - horizon // d)


def test_fictitious_play_finds_the_value_of_a_zero_sum_game():
    # Robinson 1951: the averages converge to equilibrium, here (3, 2, 1)/6.
    play = simulate(games.weighted_rps(), [FollowTheLeader(), FollowTheLeader()], horizon=20000)
    assert np.abs(play.mean_policies[0] - np.array([3, 2, 1]) / 6).max() < 0.02
