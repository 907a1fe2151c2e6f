"""Tracking and adaptive regret against brute force over sequences and intervals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regret_envs import games, metrics, simulate
from regret_envs.agents import Hedge
from regret_envs.metrics import tracking


def random_play(rng, horizon, num_actions):
    policies = rng.dirichlet(np.ones(num_actions), (horizon, 2))
    return policies, rng.normal(size=(horizon, 2, num_actions))


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_tracking_regret_equals_brute_force(seed, num_actions, horizon):
    policies, losses = random_play(np.random.default_rng(seed), horizon, num_actions)
    sequences = np.array(list(itertools.product(range(num_actions), repeat=horizon)))
    switches = (np.diff(sequences) != 0).sum(1)
    rounds = np.arange(horizon)
    for max_switches in range(horizon):
        allowed = sequences[switches <= max_switches]
        for run, regret in enumerate(tracking.tracking_regret(policies, losses, max_switches)):
            least = losses[rounds, run, allowed].sum(1).min()
            incurred = (policies[:, run] * losses[:, run]).sum()
            assert regret == pytest.approx(incurred - least, abs=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_adaptive_regret_equals_brute_force(seed, num_actions, horizon):
    policies, losses = random_play(np.random.default_rng(seed), horizon, num_actions)

    def worst(lengths):
        intervals = [slice(r, r + n) for n in lengths for r in range(horizon - n + 1)]
        matrices = [metrics.play_loss_matrix(policies[i], losses[i]) for i in intervals]
        return np.max([metrics.external_regret(m) for m in matrices], axis=0)

    np.testing.assert_allclose(
        tracking.adaptive_regret(policies, losses), worst(range(1, horizon + 1)), atol=1e-12
    )
    for length in range(1, horizon + 1):
        np.testing.assert_allclose(
            tracking.adaptive_regret(policies, losses, length), worst([length]), atol=1e-12
        )


def test_tracking_and_adaptive_regret_of_play():
    rounds = [20, 60]
    play = simulate(
        games.random_game((3, 2), seed=1),
        [Hedge(), Hedge()],
        horizon=60,
        num_runs=3,
        starting_loss_scale=1.0,
        rounds=rounds,
        record=("policies", "losses"),
    )
    for t in rounds:
        part = play.at(t)
        np.testing.assert_allclose(part.tracking_regret(0), part.regret(), atol=1e-12)
        np.testing.assert_allclose(part.adaptive_regret(t), part.regret(), atol=1e-12)
        by_switches = np.array([part.tracking_regret(s) for s in (0, 1, 5, t - 1)])
        assert by_switches.shape == (4, 2, 3) and (np.diff(by_switches, axis=0) >= -1e-12).all()
        dynamic = [
            ((p * loss).sum((0, 2)) - loss.min(2).sum(0))
            for p, loss in zip(part.policies, part.losses, strict=True)
        ]
        np.testing.assert_allclose(by_switches[-1], dynamic, atol=1e-12)
        assert (part.adaptive_regret() >= part.regret() - 1e-12).all()
    with pytest.raises(ValueError, match=r"max_switches must lie in 0 … horizon − 1 = 59, got 60"):
        play.tracking_regret(60)
    with pytest.raises(ValueError, match="max_switches must be at least 0, got -1"):
        play.tracking_regret(-1)
    with pytest.raises(ValueError, match=r"length must lie in 1 … horizon = 60, got 61"):
        play.adaptive_regret(61)
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        play.adaptive_regret(0)
    with pytest.raises(ValueError, match="record="):
        simulate(games.chicken(), [Hedge(), Hedge()], horizon=4).tracking_regret(1)
