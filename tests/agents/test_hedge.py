"""Hedge and its relatives against closed forms, the papers' recursions and 50-digit arithmetic."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from conftest import play

from regret_envs import games, simulate
from regret_envs.agents import AdaHedge, Hedge, OptimisticHedge
from regret_envs.simplex import softmax

ROUNDS, RUNS, ACTIONS = 12, 2, 3


@pytest.fixture
def losses():
    return np.random.default_rng(0).normal(size=(ROUNDS, RUNS, ACTIONS))


def before(losses):
    """The sum of the losses before each round."""
    return np.cumsum(losses, axis=0) - losses


def exponential(logits):
    weights = np.exp(logits)
    return weights / weights.sum(-1, keepdims=True)


def test_softmax_is_safe_and_works_in_place():
    logits = np.array([[1000.0, -1000.0], [1000.0, 0.0], [0.0, -2000.0]])
    result = softmax(logits)
    assert result is logits
    assert np.array_equal(result, [[0.5, 0.0], [0.5, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("step", [0.0, 0.3, 2.0])
def test_hedge_at_a_given_step(losses, step):
    expected = exponential(-step * before(losses))
    assert np.allclose(play(Hedge(step_size=step), losses, ROUNDS), expected, rtol=1e-12)


def test_hedge_at_the_default_step(losses):
    expected = exponential(-np.sqrt(2 * np.log(3) / ROUNDS) * before(losses))
    assert np.allclose(play(Hedge(), losses, ROUNDS), expected, rtol=1e-12)


@pytest.mark.parametrize(("agent", "horizon"), [(Hedge(), None), (Hedge(step_size="anytime"), ROUNDS)])
def test_hedge_with_a_step_that_shrinks(losses, agent, horizon):
    seen = np.maximum(np.arange(ROUNDS), 1)[:, None, None]
    expected = exponential(-np.sqrt(2 * np.log(3) / seen) * before(losses))
    assert np.allclose(play(agent, losses, horizon), expected, rtol=1e-12)


@pytest.mark.parametrize("step", [-0.1, float("nan"), float("inf"), "anytim"])
def test_hedge_refuses_a_step(step):
    with pytest.raises(ValueError, match=f"step_size must be .*{step}"):
        Hedge(step_size=step)
    with pytest.raises(TypeError, match="step_size must be a number, got True"):
        Hedge(step_size=True)


def test_hedge_on_weighted_rock_paper_scissors():
    gaps = simulate(games.weighted_rps(), [Hedge(), Hedge()], horizon=20).gaps()
    assert gaps.cce.max == pytest.approx([0.1188957], abs=1e-7)
    assert gaps.ce.max == pytest.approx([0.0685256], abs=1e-7)


def test_optimistic_hedge_is_optimistic_mirror_descent(losses):
    # Rakhlin and Sridharan's two steps: g_t from g_{t−1} and the losses, the play from g_t and the guess.
    step, anchor = 0.4, np.full((RUNS, ACTIONS), 1 / ACTIONS)
    expected = [anchor]
    for row in losses[:-1]:
        anchor = anchor * np.exp(-step * row)
        anchor /= anchor.sum(-1, keepdims=True)
        guess = anchor * np.exp(-step * row)
        expected.append(guess / guess.sum(-1, keepdims=True))
    assert np.allclose(play(OptimisticHedge(step_size=step), losses, ROUNDS), expected, rtol=1e-12)


def test_optimistic_hedge_has_the_step_of_hedge(losses):
    logits = -np.sqrt(2 * np.log(3) / ROUNDS) * (before(losses) + np.roll(losses, 1, axis=0))
    assert np.allclose(play(OptimisticHedge(), losses, ROUNDS)[1:], exponential(logits)[1:], rtol=1e-12)


def test_optimistic_hedge_converges_faster_in_games():
    # Sums of regrets are O(1) where all agents are optimistic (Syrgkanis et al. 2015, Theorem 4).
    game = games.random_game((4, 3), seed=5)
    sums = [
        simulate(game, [OptimisticHedge(step_size=0.1), OptimisticHedge(step_size=0.1)], horizon=t)
        .regret("external")
        .sum()
        for t in (500, 4000)
    ]
    # Each regret is at most ln d / η + η Σ ‖ℓ_t − ℓ_{t−1}‖² − (1 / 4η) Σ ‖π_t − π_{t−1}‖².
    assert max(sums) <= (np.log(4) + np.log(3)) / 0.1 + 2 * 0.1


def ada_hedge(losses):
    """AdaHedge of one run by its definition, with 50 digits."""
    with mpmath.workdps(50):
        total, gap, policies = [mpmath.mpf(0)] * len(losses[0]), mpmath.mpf(0), []
        for row in losses:
            row = [mpmath.mpf(float(x)) for x in row]
            least = min(total)
            if gap < 1e-30:  # the digits' own rounding
                weights = [mpmath.mpf(x == least) for x in total]
            else:
                step = mpmath.log(len(row)) / gap
                weights = [mpmath.exp(-step * (x - least)) for x in total]
            policy = [w / sum(weights) for w in weights]
            policies.append([float(p) for p in policy])
            mean = sum(p * x for p, x in zip(policy, row, strict=True))
            if gap < 1e-30:
                mix = min(x for p, x in zip(policy, row, strict=True) if p)
            else:
                parts = [p * mpmath.exp(-step * x) for p, x in zip(policy, row, strict=True)]
                mix = -mpmath.log(sum(parts)) / step
            gap += mean - mix
            total = [x + y for x, y in zip(total, row, strict=True)]
    return policies


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_adahedge_by_its_definition(losses, scale):
    # The first rounds agree between the actions, so the step is infinite for a while.
    equal = np.ones((2, RUNS, ACTIONS))
    scaled = scale * np.concatenate([equal, losses, 0 * equal, losses])
    policies = play(AdaHedge(), scaled, ROUNDS)
    for run in range(RUNS):
        assert np.allclose(policies[:, run], ada_hedge(scaled[:, run]), rtol=0, atol=1e-9)


def test_adahedge_by_hand():
    policies = play(AdaHedge(), np.array([[[7.0, 7.0, 7.0]], [[0.0, 1.0, 0.0]], [[0.0, 0.0, 0.0]]]), ROUNDS)[
        :, 0
    ]
    assert np.array_equal(policies[1], policies[0])
    # Δ = 1/3 − 0 at an infinite step, so η = 3 ln 3 and the second action has the weight 3⁻³.
    assert np.allclose(policies[2], np.array([27, 1, 27]) / 55, rtol=1e-14)
