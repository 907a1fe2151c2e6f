"""Follow the perturbed leader against closed forms, adaptive quadrature and sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from regret_envs.agents import FollowThePerturbedLeader


def policy_of(cumulative, step):
    agent = FollowThePerturbedLeader(step_size=step)
    agent.reset(cumulative.shape[-1], horizon=9, num_runs=len(cumulative), rng=np.random.default_rng(0))
    agent.observe(cumulative)
    return agent.act()


def test_two_actions_in_closed_form():
    gaps = np.array([0.0, 0.5, 3.0, 40.0])
    policy = policy_of(np.stack([np.zeros(4), gaps], axis=1), step=0.7)
    np.testing.assert_allclose(policy[:, 1], np.exp(-0.7 * gaps) / 2, rtol=1e-12)


@pytest.mark.parametrize("num_actions", [3, 4, 7])
def test_against_adaptive_quadrature(num_actions):
    cumulative = np.random.default_rng(num_actions).normal(size=(2, num_actions)) * 2
    policy = policy_of(cumulative, step=0.8)
    for run, sums in enumerate(cumulative):
        for a in range(num_actions):
            others = np.delete(sums, a)

            def density(z, a=a, sums=sums, others=others):
                return 0.8 * np.exp(-0.8 * z) * np.prod(-np.expm1(-0.8 * np.maximum(z + others - sums[a], 0)))

            expected = quad(density, max(sums[a] - others.min(), 0), np.inf, epsabs=1e-12)[0]
            assert policy[run, a] == pytest.approx(expected, abs=1e-9)


def test_against_sampling():
    sums, rng = np.array([0.3, -0.5, 0.1, 1.2, 0.0]), np.random.default_rng(5)
    leaders = (sums - rng.exponential(1 / 0.9, size=(200_000, 5))).argmin(1)
    frequencies = np.bincount(leaders, minlength=5) / 200_000
    policy = policy_of(sums[None], step=0.9)[0]
    errors = np.sqrt(policy * (1 - policy) / 200_000)
    assert (np.abs(frequencies - policy) < 5 * errors).all()


def test_many_actions_far_apart():
    policy = policy_of(np.random.default_rng(0).normal(size=(2, 40)) * 1e4, step=1.0)
    assert (policy >= 0).all() and policy.max(1) == pytest.approx(1)
    np.testing.assert_allclose(policy_of(np.zeros((1, 60)), step=1.0), 1 / 60, rtol=1e-10)


def test_many_actions_are_integrated_right_by_few_nodes():
    num_actions = 400
    agent = FollowThePerturbedLeader(step_size=1.0)
    agent.reset(num_actions, horizon=10, num_runs=2, rng=np.random.default_rng(0))
    assert np.allclose(agent.act(), 1 / num_actions, rtol=1e-11)
    agent.observe(np.random.default_rng(1).exponential(size=(2, num_actions)) * [[0.1], [3.0]])
    few = agent.act()
    nodes, weights = np.polynomial.legendre.leggauss(num_actions // 2)
    agent._nodes, agent._weights = (nodes + 1) / 2, weights / 2
    assert np.allclose(few, agent.act(), rtol=1e-10, atol=0)
