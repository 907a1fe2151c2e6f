# ruff: noqa: E402
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from regret_envs import simulate
from regret_envs.agents import BlumMansour, Hedge
from regret_envs.agents.attention.k_star import KStar, k_star
from regret_envs.benchmarks.reproduce import stationarity
from regret_envs.benchmarks.reproduce.checks import Options
from regret_envs.streams import Gaussian


@pytest.mark.parametrize(("d", "horizon"), [(2, 10), (3, 20)])
def test_the_single_head_gradient_vanishes_at_k_star_alone(d, horizon):
    at = stationarity.single_head_scores(d, horizon, 1.0, chunks=20)
    assert at.shape == (d * d + 2 * d,) and np.abs(at).max() < 5.5
    assert np.abs(stationarity.single_head_scores(d, horizon, 2.0, chunks=20)).max() > 5.5


@pytest.mark.parametrize("objective", stationarity._OBJECTIVES.values(), ids=stationarity._OBJECTIVES)
def test_other_objectives_are_stationary_at_a_step_of_their_own(objective):
    step = stationarity.stationary_step(objective, 120)
    at = stationarity.objective_scores(objective, step, chunks=40)
    assert at.shape == (15,) and np.abs(at).max() < 5
    assert np.abs(stationarity.objective_scores(objective, 2 * step, chunks=40)).max() > 5


def test_the_stationary_step_of_the_square_is_k_star():
    step = stationarity.stationary_step(stationarity.Objective("square"), 200)
    assert step == pytest.approx(k_star(3, 20), abs=0.015)


def test_the_gradient_of_all_heads_vanishes_at_k_star_alone():
    # Heads add their noise: it takes more sequences to see that 2k* is not stationary.
    at = stationarity.multi_head_scores(3, 20, 1.0, chunks=80)
    assert at.shape == (117,) and np.abs(at).max() < 5
    assert np.abs(stationarity.multi_head_scores(3, 20, 2.0, chunks=80)).max() > 5


def test_the_fit_over_d_finds_the_line_it_is_given():
    root = math.sqrt(320)
    stars = {d: KStar((1.5 + 0.4 * math.log(d)) / root, 0.01 / root) for d in (2, 3, 5, 10, 20)}
    checks = {check.quantity: check for check in stationarity.dependence_on_d(stars)}
    a, b = (checks[f"k* √T = a + b ln d: {name}"] for name in "ab")
    assert (a.ours, b.ours) == pytest.approx((1.5, 0.4)) and 0 < b.standard_error < a.standard_error < 0.02
    assert checks["k* √T = a + b ln d: χ² per degree of freedom"].ours == pytest.approx(0, abs=1e-12)


def test_the_recurrent_objective_is_least_where_its_derivative_vanishes():
    step, error = stationarity.recurrent_minimizer(3, 20, chunks=8)
    assert error < 0.2 * step
    # By another code: Blum–Mansour on the same law. The square is larger on both sides.
    settings = {"horizon": 20, "num_runs": 8192, "seed": 1}
    squares = [
        simulate(Gaussian(3), BlumMansour(Hedge(step_size=factor * step)), **settings).regret("swap")[0] ** 2
        for factor in (0.4, 1.0, 2.5)
    ]
    for other in (squares[0], squares[2]):
        rise = other - squares[1]
        assert rise.mean() > 3 * rise.std() / np.sqrt(len(rise))
    # Far from the block objective's calibration d.
    assert step < 0.6 * 3 * k_star(3, 20)


def test_the_whole_of_it(tmp_path, monkeypatch):
    for name, value in (("_ACTIONS", (2,)), ("_HORIZONS", (10,))):
        monkeypatch.setattr(stationarity, name, value)
    step = float(k_star(3, 20))
    monkeypatch.setattr(stationarity, "recurrent_minimizer", lambda d, horizon, chunks: (step, 0.01))
    report = stationarity.run(Options(tmp_path, quick=True))
    holds = {check.quantity: check.holds for check in report.checks}
    differs = [quantity for quantity, verdict in holds.items() if verdict == "differs"]
    assert "no" not in holds.values()
    assert [q.rpartition(": ")[2] for q in differs] == ["over d k*"] * 2
    assert (tmp_path / "stationarity.png").exists()
