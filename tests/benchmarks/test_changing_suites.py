"""What theory predicts of the suites bandit, nonstationary and strategic: 5 standard errors, 256 runs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from regret_envs import games
from regret_envs.agents import Hedge
from regret_envs.agents.stackelberg_leader import best_plan
from regret_envs.benchmarks.running.planning import plan
from regret_envs.benchmarks.running.runner import measure
from regret_envs.benchmarks.tasks.core import SUITES, TASKS
from regret_envs.games.stackelberg import stackelberg

NUM_RUNS = 256


@cache
def rows_of(task, agent):
    cells = plan("test", [TASKS[task]], [agent], runs=NUM_RUNS, seed=0)
    return [row for cell in sorted(cells, key=lambda c: c.block) for row in measure(cell)]


def values(task, agent, metric, t=None):
    """One value per run, at the horizon or in round t."""
    t = t or TASKS[task].horizon
    found = [row.values for row in rows_of(task, agent) if row.metric == metric and row.round == t]
    assert len(found) == NUM_RUNS // 64, rows_of(task, agent)[0].message
    return np.concatenate(found)


def assert_above(high, low):
    """The mean of what is high − low in every run (the same losses) is 5 standard errors above 0."""
    difference = np.asarray(high) - low
    error = difference.std(ddof=1) / np.sqrt(NUM_RUNS)
    assert difference.mean() > 5 * error, (difference.mean(), error)


@pytest.mark.parametrize("task", ["piecewise_s4_d5_t1000", "piecewise_s9_d10_t2000"])
def test_fixed_share_beats_hedge_once_there_are_switches(task):
    metric = TASKS[task].metrics[0]
    assert_above(values(task, "hedge", metric), values(task, "fixed-share", metric))


def test_fixed_share_loses_a_little_where_there_are_none():
    share, hedge = (values("stationary_d5_t1000", a, "external_regret") for a in ("fixed-share", "hedge"))
    assert_above(share, hedge)
    assert share.mean() < 1.1 * hedge.mean()


def test_exp3_ix_varies_less_than_exp3():
    exp3, ix = (values("bandit_reversal_t5000", a, "realized_regret") for a in ("exp3", "exp3-ix"))
    # Distances from the median, in pairs of independent runs (Brown and Forsythe 1974).
    assert_above(np.abs(exp3 - np.median(exp3)), np.abs(ix - np.median(ix)))


@pytest.mark.parametrize("metric", ["external_regret", "realized_regret"])
def test_tsallis_inf_is_good_where_losses_are_stochastic_and_where_they_are_adversarial(metric):
    for task in ("bandit_bernoulli_d5_t5000", "bandit_constrained_d5_t5000"):
        assert_above(values(task, "exp3", metric), values(task, "tsallis-inf", metric))
    # An agent made for independent losses is misled by the second.
    adversarial = "bandit_constrained_d5_t5000"
    assert_above(values(adversarial, "ucb1", metric), values(adversarial, "tsallis-inf", metric))


@pytest.mark.parametrize("task", ["strategic_dss_t2000", "strategic_random_3x4_t2000"])
def test_a_leader_extracts_from_hedge_and_not_from_blum_mansour(task):
    hedge, blum_mansour = (values(task, a, "extraction") for a in ("hedge", "blum-mansour"))
    assert_above(hedge, 0.0)
    assert_above(hedge, blum_mansour)
    assert_above(0.0, blum_mansour)


def test_the_plans_and_values_that_are_stated():
    hedge_plans = {
        "strategic_dss_t2000": ((0.5, 0), (0.5, 1)),
        "strategic_random_3x4_t2000": ((0.25, 0), (0.75, 1)),
    }
    worth = {"strategic_dss_t2000": 0.0, "strategic_random_3x4_t2000": 0.3584}
    for id, plan_of in hedge_plans.items():
        task = TASKS[id]
        game = games.make(task.world.removeprefix("games."), **task.settings)
        assert best_plan(game, Hedge(), horizon=task.horizon)[0] == plan_of
        assert stackelberg(game.losses).value == pytest.approx(worth[id], abs=5e-5)


def test_the_ce_gap_in_shapley_s_game_vanishes_for_blum_mansour_and_not_for_hedge():
    def gap(agent, t):
        return values("shapley_t5000", agent, "ce_gap", t)

    assert_above(gap("hedge", 5000), gap("blum-mansour", 5000))
    # From round 1,000 on Hedge's grows and Blum and Mansour's falls.
    assert_above(gap("hedge", 5000), gap("hedge", 1000))
    assert_above(gap("blum-mansour", 1000), gap("blum-mansour", 5000))
    assert gap("blum-mansour", 5000).mean() < 0.01 < 0.05 < gap("hedge", 5000).mean()


def test_agents_that_need_what_is_not_given_are_not_applicable():
    for agent in ("exp3", "ucb1"):
        for task in ("stationary_d5_t1000", "strategic_dss_t2000", "shapley_t5000"):
            (cell, *_) = plan("test", [TASKS[task]], [agent], runs=1, seed=0)
            (row,) = measure(cell)
            assert row.status == "n/a" and "needs bandit feedback" in row.message
    assert "shapley_t5000" in SUITES["strategic"].tasks
