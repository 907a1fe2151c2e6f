"""TreeSwap against its definition written out, its telescoping sum, and its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from regret_envs import simulate, streams
from regret_envs.agents import FollowTheLeader, Hedge, TreeSwap, make
from regret_envs.agents.swap.tree_swap import _breadth


def written_out(losses, breadth, depth, step_size):
    """Every node's policies from the definition: a node is a prefix of a round's digits in base M."""
    horizon, num_actions = losses.shape
    policies = np.zeros((horizon, num_actions))
    for t in range(horizon):
        for level in range(depth):
            rounds = breadth ** (depth - 1 - level)  # of each child
            begin = t - t % (rounds * breadth)
            seen = sum(
                (losses[s : s + rounds].mean(0) for s in range(begin, t - t % rounds, rounds)),
                np.zeros(num_actions),
            )
            weights = np.exp(-step_size * (seen - seen.min()))
            policies[t] += weights / weights.sum() / depth
    return policies


@pytest.mark.parametrize(("depth", "horizon"), [(1, 20), (2, 36), (2, 31), (3, 64), (3, 50), (4, 17)])
def test_against_the_definition(depth, horizon):
    breadth = _breadth(horizon, depth)
    agent = TreeSwap(Hedge(step_size=0.7), depth=depth)
    play = simulate(streams.Gaussian(4), agent, horizon=horizon, num_runs=2, record=["policies", "losses"])
    for run in range(2):
        right = written_out(play.losses[0][:, run], breadth, depth, 0.7)
        assert np.allclose(play.policies[0][:, run], right, rtol=0, atol=1e-12)


def test_breadth_is_the_least_whose_power_reaches_the_horizon():
    for horizon in (1, 2, 7, 8, 9, 27, 1000, 1001, 10**6, 10**6 + 1):
        for depth in range(1, 8):
            breadth = _breadth(horizon, depth)
            assert breadth**depth >= horizon and (breadth == 1 or (breadth - 1) ** depth < horizon)


def test_where_the_horizon_is_unknown_trees_follow_each_other():
    settings = {"horizon": 16 + 32 + 10, "record": ["policies", "losses"]}
    agent = TreeSwap(Hedge(step_size=0.7), depth=2)
    play = simulate(streams.Gaussian(3), agent, horizon_known=False, **settings)
    losses, policies = play.losses[0][:, 0], play.policies[0][:, 0]
    for start, horizon in [(0, 16), (16, 32), (48, 64)]:
        part = losses[start : start + horizon]
        right = written_out(part, _breadth(horizon, 2), 2, 0.7)
        assert np.allclose(policies[start : start + horizon], right, rtol=0, atol=1e-12)


def test_the_bound_by_hand():
    # M = 4, L = 3: one root, 4 nodes of 4 children of 4 rounds, 16 nodes above the leaves.
    one = Hedge().regret_bound(5, 4, 2.0)
    by_hand = (2.0 * 64 + 4 * 4 * one + 16 * 1 * one) / 3
    assert TreeSwap(depth=3).regret_bound(5, 64, 2.0) == pytest.approx(by_hand)
    # A tree of 28 rounds that ends in the second of 4 nodes of level 1, and the 7th of level 2.
    by_hand = (2.0 * 28 + 2 * 4 * one + 7 * 1 * one) / 3
    assert TreeSwap(depth=3).regret_bound(5, 28, 2.0) == pytest.approx(by_hand)
    assert TreeSwap(FollowTheLeader()).regret_bound(5, 64, 2.0) is None


def test_depth_is_that_of_the_best_guarantee():
    agent = TreeSwap()
    for num_actions, horizon in [(3, 1000), (1000, 10**4), (10, 10**6)]:
        bounds = [TreeSwap(depth=k).regret_bound(num_actions, horizon, 2.0) for k in range(1, 15)]
        assert agent.regret_bound(num_actions, horizon, 2.0) == pytest.approx(min(bounds))
    # The number of actions matters little: from 10 to 1,000 the bound grows by less than a third.
    ratio = agent.regret_bound(1000, 10**6, 2.0) / agent.regret_bound(10, 10**6, 2.0)
    assert 1 < ratio < 4 / 3


def test_the_agent_at_the_nodes_is_a_pattern():
    agent = make("tree-swap[copies=rm+,depth=2]")
    play = simulate(streams.Gaussian(3), agent, horizon=40)
    assert play.regret("swap") >= 0 and not hasattr(agent.copies, "_cumulative")
    with pytest.raises(TypeError, match="copies must be an agent"):
        TreeSwap("hedge")
    with pytest.raises(ValueError, match="depth must be at least 1"):
        TreeSwap(depth=0)
