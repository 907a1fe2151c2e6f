"""Stoltz–Lugosi by its definition, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import play

from regret_envs import games, simulate
from regret_envs.agents import Hedge, StoltzLugosi


def moved(policy, i, j):
    """The policy with the mass of i on j."""
    policy = policy.copy()
    policy[j] += policy[i]
    policy[i] = 0.0
    return policy


@pytest.mark.parametrize("num_actions", [2, 4])
def test_the_policy_is_the_mixture_of_its_weighted_changes(num_actions):
    pairs = [(i, j) for i in range(num_actions) for j in range(num_actions) if i != j]
    losses = np.random.default_rng(0).normal(size=(30, num_actions))
    agent = StoltzLugosi(step_size=0.8)
    agent.reset(num_actions, horizon=None, num_runs=1, rng=np.random.default_rng(0))
    totals = np.zeros(len(pairs))
    for row in losses:
        policy = agent.act()[0]
        weights = np.exp(-0.8 * (totals - totals.min()))
        weights /= weights.sum()
        mixture = sum(w * moved(policy, i, j) for w, (i, j) in zip(weights, pairs, strict=True))
        assert np.allclose(mixture, policy, rtol=0, atol=1e-12)
        totals += [moved(policy, i, j) @ row for i, j in pairs]
        agent.observe(row[None])


def test_with_two_actions_it_is_hedge_at_its_own_pace():
    # The pairs (0, 1) and (1, 0) are worth π(0) δ and −π(1) δ, and π(0) + π(1) = 1.
    losses = np.random.default_rng(1).normal(size=(25, 1, 2))
    for pair, single in zip(play(StoltzLugosi(), losses, 25), play(Hedge(), losses, 25), strict=True):
        assert np.allclose(pair, single, rtol=0, atol=1e-12)


def test_long_unequal_play_keeps_the_least_likely_pairs_apart():
    # All sums of pairs grow without bound here; the diagonal is not a pair and must not join in.
    agent = StoltzLugosi(step_size=50.0)
    agent.reset(3, horizon=None, num_runs=1, rng=np.random.default_rng(0))
    for row in np.random.default_rng(2).normal(size=(400, 1, 3)):
        assert np.isfinite(agent.act()).all()
        agent.observe(row)
    frozen = StoltzLugosi(step_size=0.0)
    frozen.reset(3, horizon=None, num_runs=1, rng=np.random.default_rng(0))
    frozen.act()
    frozen.observe(np.array([[1.0, 0.0, -1.0]]))
    assert np.allclose(frozen.act(), 1 / 3)


def test_self_play_approaches_correlated_equilibrium():
    game = games.shapley()
    gaps = [
        simulate(game, [StoltzLugosi(), StoltzLugosi()], horizon=t, num_runs=8, starting_loss_scale=1.0)
        .gaps()
        .ce.max.mean()
        for t in (100, 2000)
    ]
    assert gaps[1] < gaps[0] / 2
