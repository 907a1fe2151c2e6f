"""Projection onto the simplex against its optimality conditions, and the agents against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import play
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from regret_envs.agents import EuclideanFTRL, OnlineGradientDescent
from regret_envs.agents.external.euclidean import project_to_simplex

points = st.integers(1, 8).flatmap(lambda d: arrays(np.float64, (d, 3), elements=st.floats(-1e3, 1e3)))


@given(points)
@settings(max_examples=200, deadline=None)
def test_projection_meets_the_optimality_conditions(x):
    # y = Project(x) if and only if ⟨x − y, e_a − y⟩ ≤ 0 for every action a.
    y = project_to_simplex(x)
    assert y.min() >= 0 and np.allclose(y.sum(0), 1, rtol=0, atol=1e-12)
    gradient = x - y
    assert (gradient - (gradient * y).sum(0)).max() <= 1e-9 * max(1.0, np.abs(x).max())


def test_projection_against_a_quadratic_program():
    rng = np.random.default_rng(0)
    for x in rng.normal(scale=[[0.2], [1.0], [3.0]], size=(3, 5)):
        found = minimize(
            lambda y, x=x: ((y - x) ** 2).sum(),
            np.full(5, 0.2),
            bounds=[(0, 1)] * 5,
            constraints={"type": "eq", "fun": lambda y: y.sum() - 1},
            tol=1e-14,
        )
        assert np.allclose(project_to_simplex(x), found.x, rtol=0, atol=1e-6)


def test_projection_knows_the_simplex_and_batches():
    rng = np.random.default_rng(1)
    inside = rng.dirichlet(np.ones(4), size=(3, 2)).transpose(2, 0, 1)
    before = inside.copy()
    assert np.allclose(project_to_simplex(inside), inside, rtol=0, atol=1e-15)
    assert np.array_equal(inside, before)
    assert np.array_equal(project_to_simplex(np.array([1e15, 0.0, 1e15])), [0.5, 0.0, 0.5])


@pytest.mark.parametrize("horizon", [None, 9])
def test_the_default_steps(horizon):
    # Small losses, so that the policies stay inside and both agents move by −η (ℓ − mean ℓ).
    losses = np.random.default_rng(2).normal(size=(9, 2, 3), scale=1e-3)
    centered = losses - losses.mean(-1, keepdims=True)
    sums = np.cumsum(centered, axis=0) - centered
    seen = np.maximum(np.arange(9), 1)[:, None, None] if horizon is None else 9.0
    lazy = 1 / 3 - np.sqrt(2 / seen) / 3 * sums
    assert np.allclose(play(EuclideanFTRL(), losses, horizon), lazy, rtol=0, atol=1e-14)
    steps = np.sqrt(2 / (3 * seen)) if horizon is None else np.sqrt(2 / 9) / 3
    moves = steps * centered
    greedy = 1 / 3 - (np.cumsum(moves, axis=0) - moves)
    assert np.allclose(play(OnlineGradientDescent(), losses, horizon), greedy, rtol=0, atol=1e-14)


def test_lazy_and_greedy_projection_differ_at_the_border():
    losses = np.array([[[2.0, 0.0]], [[0.0, 1.0]], [[0.0, 0.0]]])
    # Lazy: sums (2, 1), half a unit apart around 1/2. Greedy: from (0, 1) half a unit back.
    assert np.allclose(play(EuclideanFTRL(step_size=0.5), losses, None)[2], [[0.25, 0.75]])
    assert np.allclose(play(OnlineGradientDescent(step_size=0.5), losses, None)[2], [[0.25, 0.75]])
    losses[0, 0, 0] = 4.0
    assert np.allclose(play(EuclideanFTRL(step_size=0.5), losses, None)[2], [[0.0, 1.0]])
    assert np.allclose(play(OnlineGradientDescent(step_size=0.5), losses, None)[2], [[0.25, 0.75]])
