"""Tests of whether regret vanishes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from regret_envs.benchmarks.analysis.vanishing import block_interval, growth, trend_check, verdicts


def falling(falls, horizon=25):
    """A regret curve whose average falls in so many rounds and rises in the others."""
    steps = np.where(np.arange(horizon - 1) < falls, -0.01, 0.02)
    return (1 + np.concatenate([[0.0], steps.cumsum()])) * np.arange(1, horizon + 1)


@pytest.mark.parametrize(("falls", "p"), [(17, 0.0320), (19, 0.0033), (21, 0.00014)])
def test_trend_checking_has_the_published_p_values(falls, p):
    found = trend_check(falling(falls))
    assert (found.falls, found.rounds) == (falls, 24)
    assert found.p_value == pytest.approx(p, abs=0.5 * 10 ** -(4 if p > 0.001 else 5))


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=200))
def test_trend_checking_is_a_binomial_test(regret):
    found = trend_check(regret)
    if found.p_value is not None:
        assert found.p_value == pytest.approx(stats.binom.sf(found.falls - 1, found.rounds, 0.5), rel=1e-9)


@pytest.mark.parametrize("regret", [np.zeros(20), 0.1 * np.arange(1, 21), np.full(1, 3.0)])
def test_where_all_are_ties_there_is_no_p(regret):
    assert trend_check(regret).p_value is None


def test_a_tie_is_no_fall():
    average = np.array([1.0, 0.9, 0.9, 0.9, 0.8])
    assert trend_check(average * np.arange(1, 6)).falls == 2


@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.9, 1.0, 1.3])
def test_a_power_is_fitted_exactly(exponent):
    found = growth(2.5 * np.arange(1, 31) ** exponent)
    assert found.exponent == pytest.approx(exponent, abs=1e-12)
    assert np.exp(found.constant) == pytest.approx(2.5)
    assert (found.p_value == 0) == (exponent < 1)


def test_the_regression_is_scipys():
    rng = np.random.default_rng(0)
    regret = np.arange(1, 26) ** 0.6 * np.exp(0.2 * rng.standard_normal(25))
    regret[[3, 7]] = [0.0, -0.5]
    kept = regret > 0
    expected = stats.linregress(np.log(np.arange(1, 26)[kept]), np.log(regret[kept]))
    found = growth(regret)
    assert found.left_out == 2
    assert found.exponent == pytest.approx(expected.slope)
    half = stats.t.ppf(0.975, 21) * expected.stderr
    assert (found.low, found.high) == pytest.approx((expected.slope - half, expected.slope + half))
    assert found.p_value == pytest.approx(stats.t.cdf((expected.slope - 1) / expected.stderr, 21))


@pytest.mark.parametrize("count", [11, 12, 13])
def test_no_fit_below_half_of_the_rounds(count):
    regret = np.where(np.arange(24) < count, 1.0 + np.arange(24), -1.0)
    found = growth(regret)
    assert found.left_out == 24 - count
    assert (found.exponent is None) == (count < 12)
    assert (block_interval(regret).low is None) == (count < 12)


def test_the_block_bootstrap_covers_where_increments_are_dependent():
    """Increments 1 + an AR(1) error: regret is linear, and the regression's interval too narrow."""
    rng = np.random.default_rng(1)
    covered = {"blocks": 0, "regression": 0}
    trials = 200
    for trial in range(trials):
        noise = rng.standard_normal(60)
        for t in range(1, 60):
            noise[t] += 0.4 * noise[t - 1]
        regret = (1 + 0.3 * noise).cumsum()
        blocks, fit = block_interval(regret, seed=trial, num_resamples=200), growth(regret)
        covered["blocks"] += blocks.low <= 1 <= blocks.high
        covered["regression"] += fit.low <= 1 <= fit.high
    # Nominal 95 %; the margins are three standard errors of a share of 200 at 85 % and at 50 %.
    assert covered["blocks"] / trials > 0.85 - 3 * np.sqrt(0.85 * 0.15 / trials)
    assert covered["regression"] / trials < 0.5 + 3 * np.sqrt(0.25 / trials)


def test_p_values_are_corrected_over_all_that_is_tested():
    t = np.arange(1, 26)
    curves = {("x", f"agent {k}"): np.stack([falling(falls)] * 2) for k, falls in enumerate((17, 19, 21))}
    curves["x", "linear"] = np.outer([1.0, 2.0], t)
    found = {verdict.agent: verdict for verdict in verdicts(curves)}
    p = [found[f"agent {k}"].trend.p_value for k in range(3)]
    assert found["agent 2"].trend_holm == pytest.approx(3 * p[2])
    assert found["agent 1"].trend_holm == pytest.approx(2 * p[1])
    assert found["agent 0"].trend_holm == pytest.approx(p[0])
    assert found["linear"].trend_holm is None
    assert found["linear"].regret == pytest.approx(1.5 * t)
    assert found["linear"].growth.exponent == pytest.approx(1)
    assert found["linear"].num_runs == 2
