"""The stationary distribution against 60-digit arithmetic on chains that break other methods."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from regret_envs import games, simulate
from regret_envs.agents import BlumMansour
from regret_envs.agents.swap import stationary
from regret_envs.agents.swap.stationary import stationary_distribution


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


@pytest.fixture(params=["together", "in blocks"])
def way(request, monkeypatch):
    """Both ways of elimination, at any size."""
    if request.param == "in blocks":
        monkeypatch.setattr(stationary, "_MANY_ACTIONS", 1)
        monkeypatch.setattr(stationary, "_BLOCK", 3)


@pytest.mark.parametrize("num_actions", [2, 3, 7])
@pytest.mark.parametrize("family", FAMILIES)
def test_relative_error_against_60_digits(family, num_actions, way):
    rng = np.random.default_rng(0)
    chains = np.stack([family(rng, num_actions) for _ in range(6)], axis=-1)
    chains /= chains.sum(0)
    found = stationary_distribution(chains)
    for run in range(6):
        reference = exact(chains[..., run])
        assert np.abs(found[:, run] / reference - 1).max() <= 1e-12


def test_closed_form_of_two_states(way):
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


def test_one_state(way):
    assert np.array_equal(stationary_distribution(np.ones((1, 1, 5))), np.ones((1, 5)))


@pytest.mark.parametrize("num_actions", [2, 3, 6])
def test_zeros_are_allowed(num_actions, way):
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


def test_many_actions_in_blocks_are_as_together(monkeypatch):
    chains = np.random.default_rng(2).dirichlet(np.full(101, 0.3), (101, 2, 3)).transpose(3, 0, 1, 2)
    before = chains.copy()
    monkeypatch.setattr(stationary, "_BATCH_CELLS", 4 * 101**2)
    blocks = stationary_distribution(chains)
    assert np.array_equal(chains, before)
    one = stationary_distribution(chains[..., :1, 0])
    assert np.array_equal(chains, before)
    monkeypatch.setattr(stationary, "_MANY_ACTIONS", 1000)
    assert np.allclose(blocks, stationary_distribution(chains), rtol=1e-13)
    assert np.allclose(one[:, 0], blocks[:, 0, 0], rtol=1e-13)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_guess_changes_nothing_but_the_time(family, monkeypatch):
    monkeypatch.setattr(stationary, "_MANY_ACTIONS", 1)
    rng = np.random.default_rng(0)
    chains = np.stack([family(rng, 7) for _ in range(6)], axis=-1)
    chains /= chains.sum(0)
    exactly = stationary_distribution(chains)
    for guess in (np.full((7, 6), 1 / 7), exactly, np.repeat(np.eye(7)[:, :1], 6, axis=1)):
        found = stationary_distribution(chains, guess=guess)
        assert np.abs(found - exactly).sum(0).max() <= 2e-12


@pytest.mark.parametrize("leak", [1e-14, 1e-25])
def test_a_guess_of_a_slow_chain_is_not_taken_for_the_answer(leak, monkeypatch):
    # A step of power iteration changes the guess by the leak, or by nothing at all, and it is far off.
    monkeypatch.setattr(stationary, "_MANY_ACTIONS", 1)
    chain = np.kron(np.eye(2), np.full((2, 2), 0.5)) + leak
    chain[2:, :2] += leak
    guess = np.array([0.5, 0.5, 0.0, 0.0])
    assert np.abs(chain @ guess - guess).sum() <= 7 * leak
    found = stationary_distribution(chain, guess=guess)
    assert np.allclose(found, [1 / 6, 1 / 6, 1 / 3, 1 / 3], rtol=1e-10)


def test_warm_play_is_that_of_elimination(monkeypatch):
    monkeypatch.setattr(stationary, "_MANY_ACTIONS", 8)
    eliminations = []
    inner = stationary._eliminate_in_blocks
    monkeypatch.setattr(stationary, "_eliminate_in_blocks", lambda p: eliminations.append(len(p)) or inner(p))
    game = games.RandomGames((12, 9))
    settings = {"horizon": 200, "num_runs": 3, "starting_loss_scale": 1.0, "record": "policies"}
    warm = simulate(game, [BlumMansour(), BlumMansour()], **settings)
    assert sum(eliminations) < 60  # of 1,200
    monkeypatch.setattr(stationary, "_MANY_ACTIONS", 100)
    cold = simulate(game, [BlumMansour(), BlumMansour()], **settings)
    for n in range(2):
        assert np.allclose(warm.policies[n], cold.policies[n], rtol=0, atol=1e-10)
