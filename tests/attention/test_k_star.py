# ruff: noqa: E402
import math
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from regret_envs.agents.attention import k_star as module
from regret_envs.agents.attention.k_star import Hindsight, compute_k_star, k_star

MEASURED = {  # by plain Monte Carlo over whole sequences: value, standard error
    (2, 20): (0.4174, 0.0026),
    (2, 80): (0.2110, 0.0015),
    (3, 10): (0.6260, 0.0052),
    (3, 20): (0.4495, 0.0027),
    (3, 40): (0.3220, 0.0018),
    (3, 80): (0.2275, 0.0019),
    (5, 20): (0.4916, 0.0058),
    (5, 80): (0.2518, 0.0024),
    (10, 20): (0.5461, 0.0057),
    (10, 80): (0.2735, 0.0029),
}


def quadrature_k_star(horizon):
    """k*(2, T) without sampling: with x = s_1 − s_2 ~ N(0, 2(t−1)) all is a one-dimensional integral."""
    from scipy.optimize import brentq
    from scipy.special import expit, ndtr

    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()

    def derivative(k):
        total = 0.0
        for t in range(2, horizon + 1):
            x = nodes * math.sqrt(2 * (t - 1))
            p = expit(-k * x)
            best = ndtr(-x / math.sqrt(2 * (horizon - t + 1)))
            total += (weights * -x * p * (1 - p) * 2 * (p - best)).sum()
        return total

    return brentq(derivative, 0.01, 5, xtol=1e-10)


@pytest.mark.parametrize("horizon", [2, 10, 20, 80])
def test_two_actions_agree_with_quadrature(horizon):
    ours = k_star(2, horizon) if horizon > 2 else compute_k_star(2, 2)
    assert abs(ours - quadrature_k_star(horizon)) < 4 * ours.standard_error
    assert ours.standard_error < 0.02 * ours


@pytest.mark.parametrize("problem", MEASURED)
def test_the_table_agrees_with_whole_sequences(problem):
    value, error = MEASURED[problem]
    ours = module._read(module._TABLE)[problem]
    assert abs(ours - value) < 4 * math.hypot(error, ours.standard_error)
    assert 0 < ours.standard_error < 0.005 * ours


def test_what_is_computed_agrees_with_the_table():
    for problem in ((3, 20), (5, 40)):
        ours = compute_k_star(*problem, samples=1 << 12, seed=1)
        assert abs(ours - k_star(*problem)) < 4 * math.hypot(
            ours.standard_error, k_star(*problem).standard_error
        )


def test_the_derivative_is_that_of_the_objective_and_of_the_squared_regret():
    draw = Hindsight.sample(3, 20, 1 << 14, np.random.default_rng(0))
    numeric = (draw.objective(0.3 + 1e-5) - draw.objective(0.3 - 1e-5)) / 2e-5
    assert np.allclose(draw.derivative(0.3), numeric, atol=1e-5)

    # Against the regret of whole sequences, where the difference of two objectives is E[R²] − E[R²].
    rng = np.random.default_rng(1)
    losses = rng.standard_normal((40_000, 20, 3))
    before = losses.cumsum(1) - losses

    def squares(k):
        weights = np.exp(-k * before)
        policies = weights / weights.sum(-1, keepdims=True)
        return ((policies * losses).sum((1, 2)) - losses.sum(1).min(1)) ** 2

    plain = squares(0.9) - squares(0.3)
    quick = draw.objective(0.9) - draw.objective(0.3)
    error = math.hypot(plain.std() / 200, quick.std() / 128)
    assert abs(plain.mean() - quick.mean()) < 4 * error


def test_there_is_one_minimum():
    draw = Hindsight.sample(4, 30, 1 << 14, np.random.default_rng(2))
    slopes = np.array([draw.derivative(k).mean() for k in np.geomspace(0.01, 5, 40)])
    assert (np.diff(np.sign(slopes)) != 0).sum() == 1 and slopes[0] < 0 < slopes[-1]


def test_the_scaling_in_the_horizon():
    horizons = np.array([10, 20, 40, 80, 160, 320])
    for d in (2, 3, 5, 10, 20):
        slope = np.polyfit(np.log(horizons), np.log([k_star(d, int(t)) for t in horizons]), 1)[0]
        assert abs(slope + 0.5) < 0.02


def test_it_is_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = []

    def compute(d, horizon):
        calls.append((d, horizon))
        return compute_k_star(d, horizon, samples=64)

    monkeypatch.setattr(module, "compute_k_star", compute)
    k_star.cache_clear()
    first = k_star(4, 77)
    k_star.cache_clear()
    again = k_star(4, 77)
    assert calls == [(4, 77)] and (again, again.standard_error) == (first, first.standard_error)
    (tmp_path / "regret-envs" / "k_star.csv").write_text("not,a,table\n4,x\n")
    k_star.cache_clear()
    assert k_star(4, 77) == first and len(calls) == 2
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")  # cannot be written
    k_star.cache_clear()
    assert k_star(4, 77) == first
    k_star.cache_clear()


def test_it_is_a_float_that_knows_its_error():
    k = k_star(3, 20)
    again = pickle.loads(pickle.dumps(k))
    assert isinstance(k, float) and again == k and again.standard_error == k.standard_error


@pytest.mark.parametrize("problem", [(1, 20), (3, 1)])
def test_where_every_step_plays_the_same(problem):
    with pytest.raises(ValueError, match="must be at least 2"):
        k_star(*problem)
