"""The stationary distribution against 60-digit arithmetic on chains that break other methods."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from regret_envs.agents.stationary import stationary_distribution


def exact(p):
    """π = Pπ with 60 digits, from the off-diagonal entries."""
    with mpmath.workdps(60):
        d = len(p)
        generator = mpmath.matrix(d, d)
        for i in range(d):
            for j in range(d):
                if i != j:
                    generator[j, i] = mpmath.mpf(float(p[j, i]))
                    generator[i, i] -= mpmath.mpf(float(p[j, i]))
        for i in range(d):
            generator[d - 1, i] = 1
        right = mpmath.matrix(d, 1)
        right[d - 1] = 1
        return np.array([float(x) for x in mpmath.lu_solve(generator, right)])


def dense(rng, d):
    return rng.random((d, d))


def near_identity(rng, d):
    return np.eye(d) + 1e-12 * rng.random((d, d))


def nearly_reducible_blocks(rng, d):
    half = np.arange(d) < d // 2
    return np.where(half[:, None] == half, rng.random((d, d)), 1e-12 * rng.random((d, d)))


def near_cycle(rng, d):
    return np.roll(np.eye(d), 1, axis=0) + 1e-12 * rng.random((d, d))


def sharp_softmax(rng, d):
    return np.exp(20 * rng.normal(size=(d, d)).clip(-1.3, 1.3))


def wide_range(rng, d):
    return 10.0 ** rng.uniform(-12, 0, size=(d, d))


FAMILIES = [dense, near_identity, nearly_reducible_blocks, near_cycle, sharp_softmax, wide_range]


@pytest.mark.parametrize("num_actions", [2, 3, 7])
@pytest.mark.parametrize("family", FAMILIES)
def test_relative_error_against_60_digits(family, num_actions):
    rng = np.random.default_rng(0)
    chains = np.stack([family(rng, num_actions) for _ in range(6)], axis=-1)
    chains /= chains.sum(0)
    found = stationary_distribution(chains)
    for run in range(6):
        reference = exact(chains[..., run])
        assert np.abs(found[:, run] / reference - 1).max() <= 1e-12


def test_closed_form_of_two_states():
    leave_0, leave_1 = 3e-12, 1e-12
    chain = np.array([[1 - leave_0, leave_1], [leave_0, 1 - leave_1]])
    assert np.allclose(stationary_distribution(chain), [0.25, 0.75], rtol=1e-15)


def test_batches_are_solved_apart_and_left_alone():
    rng = np.random.default_rng(1)
    chains = rng.dirichlet(np.ones(4), size=(4, 3000)).transpose(2, 0, 1)
    before = chains.copy()
    work = np.empty_like(chains)
    together = stationary_distribution(chains, work=work)
    assert np.array_equal(chains, before)
    for run in (0, 1234, 2999):
        # Large batches are worked through a row at a time, small ones all at once.
        assert np.allclose(stationary_distribution(chains[..., run]), together[:, run], rtol=1e-14)
    by_shape = stationary_distribution(chains.reshape(4, 4, 3, 1000))
    assert np.allclose(by_shape.reshape(4, 3000), together, rtol=1e-14)


def test_one_state():
    assert np.array_equal(stationary_distribution(np.ones((1, 1, 5))), np.ones((1, 5)))


@pytest.mark.parametrize("num_actions", [2, 3, 6])
def test_zeros_are_allowed(num_actions):
    # Nobody moves: every distribution is stationary, and the floor picks the uniform one.
    found = stationary_distribution(np.eye(num_actions))
    assert np.allclose(found, 1 / num_actions, rtol=1e-12)
    # Everybody goes to state 0 and stays.
    absorbing = np.zeros((num_actions, num_actions))
    absorbing[0] = 1.0
    assert np.allclose(stationary_distribution(absorbing), np.eye(num_actions)[0], rtol=0, atol=1e-12)
    # A chain of states, each leading to the next, the last one keeping what it gets.
    line = np.eye(num_actions, k=-1)
    line[-1, -1] = 1.0
    assert np.allclose(stationary_distribution(line), np.eye(num_actions)[-1], rtol=0, atol=1e-12)
