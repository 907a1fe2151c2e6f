import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from regret_envs.benchmarks.analysis import statistics

scores = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


def tasks(seed=0, sizes=(64, 7, 1, 200), shift=0.0):
    rng = np.random.default_rng(seed)
    return [shift + rng.gamma(2.0, 1.0 + k, n) for k, n in enumerate(sizes)]


@given(scores)
def test_the_interquartile_mean_is_the_trimmed_mean(values):
    x = np.array(values)
    expected = scipy.stats.trim_mean(x, 0.25)
    assert statistics.interquartile_mean([x]) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 1000))
def test_over_tasks_of_equal_runs_it_is_that_of_all_scores(num_tasks, num_runs, seed):
    samples = tasks(seed, (num_runs,) * num_tasks)
    expected = scipy.stats.trim_mean(np.concatenate(samples), 0.25)
    assert statistics.interquartile_mean(samples) == pytest.approx(expected, rel=1e-9)


def test_a_task_of_few_runs_weighs_as_much_as_one_of_many():
    # Of weights 1/2, 1/4, 1/4 at 0, 10, 20: ⌊3/4⌋ = 0 is cut.
    assert statistics.interquartile_mean([np.array([0.0]), np.array([10.0, 20.0])]) == pytest.approx(7.5)
    # Repeating every run changes nothing once the quarter is a whole number of runs.
    a, b = tasks(sizes=(8, 24))
    assert statistics.interquartile_mean([np.repeat(a, 3), b]) == pytest.approx(
        statistics.interquartile_mean([np.repeat(a, 12), np.repeat(b, 4)])
    )


@pytest.mark.parametrize("statistic", ["mean", "iqm"])
def test_the_interval_is_scipys_within_monte_carlo_error(statistic):
    (x,) = tasks(sizes=(60,))
    function = np.mean if statistic == "mean" else lambda v, axis: scipy.stats.trim_mean(v, 0.25, axis=axis)
    theirs = scipy.stats.bootstrap(
        (x,), function, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    )
    (ours,) = statistics.bootstrap_intervals([[x]], seed=2, statistic=statistic, num_resamples=20_000)
    assert ours.estimate == pytest.approx(float(function(x, axis=0)), rel=1e-12)
    # A 2.5 % quantile of 20,000 has standard error 0.019 standard deviations: five of the difference.
    margin = 5 * np.sqrt(2) * 0.019 * theirs.standard_error
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=margin)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=margin)


def test_the_interval_over_tasks_has_the_width_of_normal_theory():
    rng = np.random.default_rng(1)
    samples = [rng.normal(2.0, 1.0, 400), rng.normal(4.0, 3.0, 100), np.array([7.0])]
    (interval,) = statistics.bootstrap_intervals([samples], seed=2)
    error = np.sqrt(samples[0].var() / 400 + samples[1].var() / 100) / 3
    mean = np.mean([x.mean() for x in samples])
    # 2,000 resamples know a 2.5 % quantile to about 6 % of a standard error.
    assert interval.estimate == pytest.approx(mean)
    assert interval.low == pytest.approx(mean - 1.96 * error, abs=0.3 * error)
    assert interval.high == pytest.approx(mean + 1.96 * error, abs=0.3 * error)


def test_an_interval_is_seeded_and_does_not_depend_on_who_else_is_there(monkeypatch):
    agents = [tasks(0), tasks(1), tasks(2, sizes=(5, 6))]
    together = statistics.bootstrap_intervals(agents, seed=3, statistic="iqm")
    assert together == [statistics.bootstrap_intervals([a], seed=3, statistic="iqm")[0] for a in agents]
    assert together != statistics.bootstrap_intervals(agents, seed=4, statistic="iqm")
    (whole,) = statistics.bootstrap_intervals(agents[:1], seed=3)
    monkeypatch.setattr(statistics, "_BLOCK_CELLS", 10_000)
    (blocks,) = statistics.bootstrap_intervals(agents[:1], seed=3)
    # Other resamples of the same law.
    assert blocks.low == pytest.approx(whole.low, abs=0.2 * (whole.high - whole.low))


def test_one_task_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(4, 30)) + rng.normal(0, 5, 30)
    pairs = statistics.paired_differences([table])
    for i, j in itertools.permutations(range(4), 2):
        expected = scipy.stats.ttest_rel(table[i], table[j])
        assert pairs.p[i, j] == pytest.approx(expected.pvalue, rel=1e-9)
        assert pairs.difference[i, j] == pytest.approx((table[i] - table[j]).mean())
        t = pairs.difference[i, j] / pairs.standard_error[i, j]
        assert t == pytest.approx(expected.statistic)


def test_runs_that_one_agent_lacks_are_left_out():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(2, 30))
    table[0, :5] = table[1, 25:] = np.nan
    pairs = statistics.paired_differences([table])
    assert pairs.p[0, 1] == pytest.approx(scipy.stats.ttest_rel(table[0, 5:25], table[1, 5:25]).pvalue)
    assert pairs.num_runs[0, 1] == 20
    table[1] = np.nan
    assert np.isnan(statistics.paired_differences([table]).p[0, 1])


def test_over_tasks_the_test_holds_its_level():
    rng = np.random.default_rng(0)
    laws = ((1.0, 5), (10.0, 9), (0.1, 30))
    p = [
        statistics.paired_differences([s * rng.normal(size=(2, n)) for s, n in laws]).p[0, 1]
        for _ in range(2000)
    ]
    # 2,000 trials at 5 %: standard error 0.5 %.
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.02)


def test_differences_without_variance():
    constant = statistics.paired_differences([np.array([[1.0, 2.0], [2.0, 3.0], [1.0, 2.0 + 1e-12]])])
    assert constant.p[0, 1] == 0 and constant.p[0, 2] == 1
    single = statistics.paired_differences([np.array([[1.0], [2.0], [1.0]]), np.zeros((3, 1))])
    assert np.isnan(single.p[0, 1]) and single.p[0, 2] == 1


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closed_bonferroni_test(values):
    p = np.array(values)
    everything = range(len(p))
    for i, adjusted in enumerate(statistics.holm(p)):
        holding_i = [s for k in range(1, len(p) + 1) for s in itertools.combinations(everything, k) if i in s]
        assert adjusted == pytest.approx(min(1.0, max(len(s) * p[list(s)].min() for s in holding_i)))


def test_holm_leaves_out_what_is_not_known():
    np.testing.assert_allclose(statistics.holm(np.array([0.01, np.nan, 0.04])), [0.02, np.nan, 0.04])


def test_tie_ranks():
    apart = np.zeros((4, 4))
    assert statistics.tie_ranks([3.0, 1.0, 2.0, 4.0], apart) == [3, 1, 2, 4]
    assert statistics.tie_ranks([3.0, 1.0, 2.0, 4.0], np.full((4, 4), 0.5)) == [1, 1, 1, 1]
    p = apart.copy()
    p[1, 2] = p[2, 1] = 0.2  # the best two
    p[2, 0] = p[0, 2] = 0.2  # the second and the third: the third is not like the best
    assert statistics.tie_ranks([3.0, 1.0, 2.0, 4.0], p) == [3, 1, 1, 4]
    assert statistics.tie_ranks([1.0, 2.0], np.full((2, 2), np.nan)) == [1, 2]
    assert statistics.tie_ranks([], np.ones((0, 0))) == []


def test_overlaps():
    intervals = [(0.0, 1.0), (0.9, 2.0), (2.1, 3.0), None, (4.0, 5.0)]
    assert statistics.overlaps(intervals) == [True, True, False, False, False]


def test_the_probability_of_improvement_is_the_mann_whitney_statistic():
    x, y = tasks(0, (30, 12)), tasks(1, (20, 12), shift=0.5)
    y[1][:4] = x[1][:4]  # ties
    u = [scipy.stats.mannwhitneyu(b, a).statistic / (len(a) * len(b)) for a, b in zip(x, y, strict=True)]
    ours = statistics.probability_of_improvement(x, y, rng=np.random.default_rng(0))
    assert ours.estimate == pytest.approx(np.mean(u))
    assert ours.low < ours.estimate < ours.high
    back = statistics.probability_of_improvement(y, x, rng=np.random.default_rng(0))
    assert back.estimate == pytest.approx(1 - ours.estimate)
    certain = statistics.probability_of_improvement(x, [a + 1e9 for a in x], rng=np.random.default_rng(0))
    assert (certain.estimate, certain.low, certain.high) == (1.0, pytest.approx(1.0), pytest.approx(1.0))


def test_the_probability_of_improvement_has_a_right_interval():
    rng = np.random.default_rng(0)
    # P(X < Y) of N(0, 1) and N(1, 1) is Φ(1/√2).
    truth, covered = scipy.stats.norm.cdf(1 / np.sqrt(2)), 0
    for k in range(200):
        x, y = rng.normal(0, 1, 40), rng.normal(1, 1, 40)
        i = statistics.probability_of_improvement([x], [y], rng=np.random.default_rng(k), num_resamples=300)
        covered += i.low <= truth <= i.high
    # 95 % of 200 has standard error 1.5 %; the percentile interval covers a little less.
    assert covered >= 200 * (0.95 - 0.07)


def test_performance_profiles():
    samples = [np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0])]
    np.testing.assert_allclose(
        statistics.performance_profile(samples, np.array([0.5, 1.0, 2.0, 3.5, 9.0])),
        [0, 0.125, 0.75, 0.875, 1],
    )


def test_copies_are_one_observation():
    copies = np.array([[1.0] * 64, [1.5] * 64, [1.0 + 1e-6] * 64])
    pairs = statistics.paired_differences([copies], margin=1e-3)
    assert np.isnan(pairs.p[0, 1]) and pairs.num_runs[0, 1] == 1
    assert pairs.difference[0, 1] == -0.5 and pairs.p[0, 2] == 1
    # Where one of the two draws, the runs are runs.
    drawn = np.vstack([copies[0], np.random.default_rng(0).normal(2.0, 1.0, 64)])
    pairs = statistics.paired_differences([drawn])
    assert pairs.p[0, 1] == pytest.approx(scipy.stats.ttest_1samp(drawn[1], 1.0).pvalue)


def test_mean_ranks_by_hand():
    means = np.array([[1.0, 5.0], [2.0, 5.0005], [3.0, 1.0]])
    np.testing.assert_allclose(statistics.mean_ranks(means, np.full(2, 1e-3)), [1.75, 2.25, 2.0])
    ranks = statistics.mean_ranks(means, np.zeros(2))
    np.testing.assert_allclose(ranks, scipy.stats.rankdata(means, axis=0).mean(1))
