import numpy as np
import pytest
import scipy.stats
from conftest import cell, regrets

from regret_envs.benchmarks.analysis.comparison import compare, compare_table
from regret_envs.benchmarks.analysis.tables import markdown
from regret_envs.metrics.catalog import regret_unit


def test_task_by_task_on_common_runs():
    rng = np.random.default_rng(0)
    x, y = rng.normal(5, 3, 40), rng.normal(5, 3, 30)
    a = x + rng.normal(-0.3, 0.2, 40)
    rows = [
        *cell("a", regrets(*a), task="s"),
        *cell("b", regrets(*x[:30]), task="s"),
        *cell("a", regrets(*y), task="t"),
        *cell("b", regrets(*(y + rng.normal(0, 0.5, 30))), task="t"),
        *cell("a", regrets(2.0), task="u"),
        *cell("b", regrets(1.0), task="u"),
        *cell("a", regrets(1.0, 2.0), task="other seed", seed=1),
        *cell("b", regrets(1.0, 2.0), task="other seed", seed=2),
        *cell("a", {}, task="failed", status="failed"),
        *cell("b", regrets(1.0), task="failed"),
    ]
    s, t, u, external, swap = compare(rows, "a", "b")
    assert [(d.task, d.metric, d.num_runs) for d in (s, t, u, external)] == [
        ("s", "external_regret", 30),
        ("t", "external_regret", 30),
        ("u", "external_regret", 1),
        ("all", "external_regret", 61),
    ]
    assert s.difference == pytest.approx((a - x)[:30].mean())
    assert s.standard_error == pytest.approx((a - x)[:30].std(ddof=1) / np.sqrt(30))
    # Holm over the two tests that there are.
    assert s.p == pytest.approx(2 * scipy.stats.ttest_rel(a[:30], x[:30]).pvalue)
    assert (s.better, t.better, u.better, u.p, u.standard_error) == ("a", None, "b", None, None)
    unit = regret_unit(2.0, 50, 3)
    assert external.difference == pytest.approx((s.difference + t.difference + 1.0) / 3 / unit)
    assert swap.difference == pytest.approx(2 * external.difference)
    wins = scipy.stats.mannwhitneyu(x[:30], a[:30]).statistic / 900
    assert s.improvement.estimate == pytest.approx(wins)
    wide = compare(rows, "a", "b", margin=0.05)[0]
    gap = a[:30][:, None] - x[:30]
    within = np.abs(gap) <= wide.margin
    wins = ((gap < 0) & ~within).mean() + within.mean() / 2
    assert within.any() and wide.improvement.estimate == pytest.approx(wins)
    assert u.improvement.estimate == 0
    (back, *_) = compare(rows, "b", "a")
    assert (back.difference, back.p, back.better) == (pytest.approx(-s.difference), s.p, "a")


def test_nothing_in_common():
    assert compare([*cell("a", regrets(1.0), task="s"), *cell("b", regrets(1.0), task="t")], "a", "b") == []


def test_copies_leave_nothing_to_test():
    rows = [*cell("a", regrets(*[1.0] * 64)), *cell("b", regrets(*[1.5] * 64))]
    for d in compare(rows, "a", "b"):
        assert (d.p, d.standard_error, d.better, d.num_runs) == (None, None, "a", 64)


def test_equivalent_agents_and_the_other_direction():
    x = np.random.default_rng(0).uniform(0.4, 0.6, 40)
    rows = [
        *cell("a", {"efficiency": x}),
        *cell("b", {"efficiency": x + 1e-8}),
        *cell("c", {"efficiency": x + 0.1}),
    ]
    (same, _) = compare(rows, "a", "b", metric="efficiency")
    assert (same.better, same.p) == (None, 1.0)
    (d, every) = compare(rows, "a", "c", metric="efficiency")
    assert d.better == every.better == "c" and d.higher_is_better and d.improvement.estimate < 0.5


def test_nothing_is_decided_by_rounding():
    x = np.random.default_rng(0).uniform(4, 6, 12)
    rows = [*cell("a", regrets(*x)), *cell("b", regrets(*(x - 1e-8)))]
    rows += [*cell("a", regrets(1.0), task="one run"), *cell("b", regrets(1.0 - 1e-8), task="one run")]
    for d in compare(rows, "a", "b"):
        assert (d.p, d.better) == (1, None)
        equal = d.improvement.estimate == 0.5
        assert equal or d.num_runs > 1  # of several runs, those of different numbers are not equal
    text = markdown([compare_table(compare(rows, "b", "a"), "b", "a")])
    assert "-0.000000" not in text and "| one run | external regret ↓" in text
