"""Statistics of scores over runs and tasks: pure functions of arrays, seeded; lower is better.

A *sample* is an array (num_runs,) of one agent's scores on one task; an agent's `samples` are a list
of them, one per task, in the same order for every agent. Tasks weigh the same however many runs they
have. Intervals are percentile intervals of the bootstrap stratified by task: runs are drawn anew
within every task, the tasks are taken as given (Efron 1979; Agarwal et al., "Deep Reinforcement
Learning at the Edge of the Statistical Precipice", NeurIPS 2021, where higher is better).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np

from regret_envs.arrays import BoolArray, FloatArray

NUM_RESAMPLES = 2000
_EQUAL = 1e-9
_COPIED = 1e-12
_BLOCK_CELLS = 1 << 21


class Interval(msgspec.Struct, frozen=True):
    """An estimate and its bootstrap interval."""

    estimate: float
    low: float
    high: float


class Pairs(msgspec.Struct, frozen=True):
    """Paired differences between all agents, arrays (num_agents, num_agents), row minus column.

    Attributes:
        difference: the mean over tasks of the mean difference over common runs; NaN where a task
            has no run in common.
        standard_error: its standard error, 0 where every task has a single run.
        num_runs: common runs over all tasks.
        p: two-sided p-values of no difference, 1 within the equivalence margin; NaN where they differ and
            no run is repeated, so that there is nothing to test with.
    """

    difference: FloatArray
    standard_error: FloatArray
    num_runs: FloatArray
    p: FloatArray


def interquartile_mean(samples: Sequence[FloatArray]) -> float:
    """Mean of the middle half of all scores, ⌊n/4⌋/n of the weight cut from either end.

    With equally many runs a task it is `scipy.stats.trim_mean` of all scores at 0.25.

    Args:
        samples: arrays (num_runs,), one per task; a run weighs 1/(num_tasks · num_runs of its task).
    """
    values, weights = _pooled(samples)
    order = np.argsort(values, kind="stable")
    return float(_middle_mean(values[order], weights[order]))


def bootstrap_intervals(
    agents: Sequence[Sequence[FloatArray]],
    *,
    seed: int,
    statistic: Literal["mean", "iqm"] = "mean",
    level: float = 0.95,
    num_resamples: int = NUM_RESAMPLES,
) -> list[Interval]:
    """Every agent's mean of the tasks' means, or interquartile mean, with its percentile interval.

    Agents with equally many runs share the resamples; an interval does not depend on who else is there.

    Args:
        agents: the samples of each agent.
        seed: of the resamples.
        statistic: "mean" or "iqm".
        level: coverage.
        num_resamples: bootstrap resamples.
    """
    pooled = [_pooled(samples) for samples in agents]
    orders = [np.argsort(values, kind="stable") for values, _ in pooled]
    sizes = [tuple(len(x) for x in samples) for samples in agents]
    drawn: list[list[FloatArray]] = [[] for _ in agents]
    for same in dict.fromkeys(sizes):
        for counts in _resamples(same, np.random.default_rng(seed), num_resamples):
            for i, (values, weights) in enumerate(pooled):
                if sizes[i] != same:
                    continue
                if statistic == "mean":
                    drawn[i].append(counts @ (weights * values))
                else:
                    ordered = counts[:, orders[i]] * weights[orders[i]]
                    drawn[i].append(_middle_mean(values[orders[i]], ordered))
    return [
        _interval(
            float(weights @ values) if statistic == "mean" else interquartile_mean(samples),
            np.concatenate(blocks),
            level,
        )
        for samples, (values, weights), blocks in zip(agents, pooled, drawn, strict=True)
    ]


def performance_profile(samples: Sequence[FloatArray], thresholds: FloatArray) -> FloatArray:
    """The share of runs, averaged over tasks, that score at most each threshold.

    Dolan and Moré 2002; Agarwal et al. 2021. The higher the curve the better.

    Returns:
        Shares, the shape of `thresholds`.
    """
    shares = [np.searchsorted(np.sort(x), thresholds, side="right") / len(x) for x in samples]
    return np.mean(shares, axis=0)


def probability_of_improvement(
    samples: Sequence[FloatArray],
    others: Sequence[FloatArray],
    *,
    rng: np.random.Generator,
    margin: float = 0.0,
    level: float = 0.95,
    num_resamples: int = NUM_RESAMPLES,
) -> Interval:
    """The chance that a run scores below a run of the other agent on a task drawn at random.

    The mean over tasks of P(X < Y) + P(X = Y)/2, the Mann–Whitney statistic over its maximum
    (Agarwal et al. 2021). Runs of the two agents are drawn independently; values that differ by at most the
    margin count as equal.

    Args:
        samples: of the agent, one array (num_runs,) a task.
        others: of the other one, the same tasks.
        rng: the generator of the bootstrap.
        margin: the equivalence margin, in units of the samples.
        level: coverage.
        num_resamples: bootstrap resamples.
    """
    estimate, drawn = 0.0, np.zeros(num_resamples)
    for x, y in zip(samples, others, strict=True):
        equal = np.abs(x[:, None] - y) <= margin
        wins = ((x[:, None] < y) & ~equal) + 0.5 * equal
        estimate += float(wins.mean()) / len(samples)
        at = 0
        for counts in _resamples([len(x), len(y)], rng, num_resamples):
            a, b = counts[:, : len(x)], counts[:, len(x) :]
            drawn[at : at + len(counts)] += ((a @ wins) * b).sum(1) / (wins.size * len(samples))
            at += len(counts)
    return _interval(estimate, drawn, level)


def is_copied(values: FloatArray) -> bool:
    """Whether all runs have one value: neither world nor agents draw, so the runs are copies of one.

    Copies are one observation, from which there is no test and no interval.

    Args:
        values: shape (num_runs,), equal here if they agree to 1e-12 of their size.
    """
    return bool(np.ptp(values) <= _COPIED * np.abs(values).max())


def mean_ranks(means: FloatArray, margins: FloatArray) -> FloatArray:
    """The mean over tasks of every agent's rank, 1 the best; agents within the margin share the mean rank.

    On a task an agent's rank is 1 plus the number of agents that are lower by more than the margin, plus
    half the number of others within it.

    Args:
        means: shape (num_agents, num_tasks), lower is better.
        margins: shape (num_tasks,): a difference up to it does not count.

    Returns:
        Shape (num_agents,).
    """
    difference = means[:, None] - means
    better = difference > margins
    within = np.abs(difference) <= margins
    return (0.5 + (better + 0.5 * within).sum(1)).mean(1)


def paired_differences(tables: Sequence[FloatArray], *, margin: float = 0.0) -> Pairs:
    """Differences between all agents on the runs that both played: a paired t-test over tasks.

    A common run is the same seed and number, so the agents faced the same losses. With one task this
    is the paired t-test; over several, the variances of the tasks' means add up, and the degrees of
    freedom are Welch and Satterthwaite's (1946). Where both agents' runs are copies (see `is_copied`), they
    count as one run.

    Args:
        tables: one array (num_agents, num_runs) per task, NaN where an agent did not play a run.
        margin: the equivalence margin: a mean difference up to it, or up to 1e-9 of the scores' size, does
            not count, and its p is 1.
    """
    from scipy.special import stdtr

    num_agents = len(tables[0])
    difference, error, runs, p = (np.zeros((num_agents, num_agents)) for _ in range(4))
    size = float(np.mean([np.nanmax(np.abs(table)) for table in tables]))
    with np.errstate(invalid="ignore", divide="ignore"):
        for i in range(num_agents):
            total, variance, spread, count = (np.zeros(num_agents) for _ in range(4))
            for table in tables:
                d = table[i] - table
                n = np.isfinite(d).sum(1)
                n = np.where(_both_copied(table[i], table), np.minimum(n, 1), n)
                mean = np.nansum(d, axis=1) / np.isfinite(d).sum(1)
                squares = np.nansum((d - mean[:, None]) ** 2, axis=1)
                v = np.where(n > 1, squares / (n - 1) / n, 0.0) / len(tables) ** 2
                total += mean / len(tables)
                variance += v
                spread += np.where(n > 1, v**2 / (n - 1), 0.0)
                count += n
            difference[i], error[i], runs[i] = total, np.sqrt(variance), count
            t = np.abs(total) / error[i]
            # Without any variance there is no test: certain if runs were repeated, else unknown.
            certain = np.where(count > len(tables), 0.0, np.nan)
            tested = np.where(variance > 0, 2 * stdtr(variance**2 / spread, -t), certain)
            p[i] = np.where(np.abs(total) <= max(margin, _EQUAL * size), 1.0, tested)
    return Pairs(difference, error, runs, p)


def _both_copied(row: FloatArray, table: FloatArray) -> BoolArray:
    """Of every agent in the table, whether its runs and those of `row`, where both played, are copies."""
    common = np.isfinite(row) & np.isfinite(table)

    def copied(values: FloatArray) -> BoolArray:
        low = np.where(common, values, np.inf).min(1)
        high = np.where(common, values, -np.inf).max(1)
        return np.asarray(high - low <= _COPIED * np.maximum(np.abs(low), np.abs(high)))

    return copied(np.broadcast_to(row, table.shape)) & copied(table)


def holm(p: FloatArray) -> FloatArray:
    """Holm's step-down adjustment (1979) of p-values, NaN left out and kept.

    The k-th smallest of m is multiplied by m − k + 1, made monotone and cut at 1: rejecting where
    the result is at most α errs anywhere with probability at most α.
    """
    adjusted = np.full(p.shape, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p.flat[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted.flat[order] = np.minimum(np.maximum.accumulate(p.flat[order] * factors), 1.0)
    return adjusted


def holm_pairs(p: FloatArray) -> FloatArray:
    """`holm` over the pairs of a symmetric matrix (num_agents, num_agents), as such a matrix."""
    upper = np.triu_indices(len(p), 1)
    adjusted = np.ones_like(p)
    adjusted[upper] = holm(p[upper])
    adjusted.T[upper] = adjusted[upper]
    return adjusted


def tie_ranks(values: Sequence[float], p: FloatArray, *, alpha: float = 0.05) -> list[int]:
    """Ranks that agents share if they cannot be told apart.

    From the best on: a group holds its best agent and those after it that the test does not tell
    apart from that one; the first that it does begins the next group. A group's rank is 1 plus the
    number of agents in better groups.

    Args:
        values: means, lower is better.
        p: adjusted p-values (num_agents, num_agents); NaN: there was no test, and they differ.
        alpha: told apart at p ≤ alpha.
    """
    ranks = [0] * len(values)
    best, rank = -1, 0
    for place, agent in enumerate(np.argsort(values, kind="stable")):
        if best < 0 or not p[best, agent] > alpha:
            best, rank = int(agent), place + 1
        ranks[agent] = rank
    return ranks


def overlaps(intervals: Sequence[tuple[float, float] | None]) -> list[bool]:
    """Whether each interval, from best to worst, meets the one before or after it."""
    meets = [
        a is not None and b is not None and a[0] <= b[1] and b[0] <= a[1] for a, b in pairwise(intervals)
    ]
    return [before or after for before, after in zip([False, *meets], [*meets, False], strict=True)]


def _pooled(samples: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    weights = [np.full(len(x), 1 / (len(x) * len(samples))) for x in samples]
    return np.concatenate(samples).astype(np.float64), np.concatenate(weights)


def _middle_mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The mean over weight ⌊n/4⌋/n … 1 − ⌊n/4⌋/n of ascending values; weights (…, n) sum to 1."""
    cut = (len(values) // 4) / len(values)
    upper = np.cumsum(weights, axis=-1)
    kept = np.minimum(upper, 1 - cut) - np.maximum(upper - weights, cut)
    return np.maximum(kept, 0.0) @ values / (1 - 2 * cut)


def _resamples(sizes: Sequence[int], rng: np.random.Generator, count: int) -> Iterator[FloatArray]:
    """How often every run is drawn, (resamples, total runs): blocks of bounded size, `count` in all."""
    total = sum(sizes)
    starts = np.cumsum([0, *sizes[:-1]])
    block = max(_BLOCK_CELLS // total, 1)
    for first in range(0, count, block):
        rows = min(block, count - first)
        drawn = [start + rng.integers(n, size=(rows, n)) for start, n in zip(starts, sizes, strict=True)]
        flat = (np.arange(rows)[:, None] * total + np.concatenate(drawn, axis=1)).ravel()
        yield np.bincount(flat, minlength=rows * total).reshape(rows, total).astype(np.float64)


def _interval(estimate: float, drawn: FloatArray, level: float) -> Interval:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high))
