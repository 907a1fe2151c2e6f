"""The minimizers over the simplex against their conditions of optimality, and optimistic play."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regret_envs import games, simulate
from regret_envs.agents import EuclideanFTRL, OptimisticFTRL, OptimisticHedge
from regret_envs.agents.external.optimistic_ftrl import log_barrier_policy, tsallis_policy
from regret_envs.names import UnknownNameError


@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(-6, 7))
@settings(max_examples=60, deadline=None)
def test_minimizers_meet_the_conditions_of_optimality(seed, num_actions, log_scale):
    losses = 10.0**log_scale * np.random.default_rng(seed).normal(size=(num_actions, 3))
    for policy, gradient in [
        (tsallis_policy(losses), lambda p: -(p**-0.5)),
        (log_barrier_policy(losses), lambda p: -(p**-1.0)),
    ]:
        assert (policy > 0).all()
        np.testing.assert_allclose(policy.sum(0), 1, atol=1e-12)
        # θ + ∇ψ(π) is the same for all actions.
        slack = losses + gradient(policy)
        np.testing.assert_allclose(slack - slack[:1], 0, atol=1e-9 * max(np.abs(losses).max(), 10))


def test_two_actions_in_closed_form():
    # 1/π − 1/(1 − π) = θ_1 − θ_2 for the log barrier.
    difference = np.array([0.0, 0.3, 2.0, 50.0])
    policy = log_barrier_policy(np.stack([difference, np.zeros(4)]))[0]
    np.testing.assert_allclose(1 / policy - 1 / (1 - policy), difference, atol=1e-10)


def play_of(agents, **given):
    return simulate(
        games.random_game((3, 4), seed=1), agents, horizon=60, num_runs=2, starting_loss_scale=1.0, **given
    )


def test_entropy_is_optimistic_hedge():
    for step in (None, 0.4, "anytime"):
        ours = play_of([OptimisticFTRL(step_size=step), OptimisticFTRL(step_size=step)], record="policies")
        hedge = play_of([OptimisticHedge(step_size=step), OptimisticHedge(step_size=step)], record="policies")
        for a, b in zip(ours.policies, hedge.policies, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
    assert OptimisticFTRL().regret_bound(3, 50, 1.0) == OptimisticHedge().regret_bound(3, 50, 1.0)


def test_euclidean_is_euclidean_ftrl_with_the_last_losses_counted_twice():
    losses = np.random.default_rng(0).normal(size=(20, 2, 3))
    agent, plain = OptimisticFTRL(step_size=0.2, regularizer="euclidean"), EuclideanFTRL(step_size=0.2)
    agent.reset(3, horizon=20, num_runs=2, rng=np.random.default_rng(0))
    for t, row in enumerate(losses):
        plain.reset(3, horizon=20, num_runs=2, rng=np.random.default_rng(0))
        for seen in [*losses[:t], *losses[max(t - 1, 0) : t]]:
            plain.observe(seen)
        np.testing.assert_allclose(agent.act(), plain.act(), atol=1e-12)
        agent.observe(row)


@pytest.mark.parametrize("regularizer", ["entropy", "euclidean", "tsallis", "log_barrier"])
def test_the_sum_of_regrets_in_self_play_is_bounded(regularizer):
    # Syrgkanis et al. 2015: Σ_n R_n = O(1) at a fixed step, where the plain agent's grows.
    def sums(horizon):
        agents = [OptimisticFTRL(step_size=0.1, regularizer=regularizer) for _ in range(2)]
        play = simulate(games.weighted_rps(), agents, horizon=horizon, starting_loss_scale=1.0, num_runs=4)
        return play.regret().sum(0).max()

    assert sums(4_000) < 1.5 * sums(1_000) + 1.0


def test_an_unknown_regularizer_is_named():
    with pytest.raises(UnknownNameError, match="unknown regularizer 'tsalis': did you mean 'tsallis'"):
        OptimisticFTRL(regularizer="tsalis")
