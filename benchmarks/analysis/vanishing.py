"""Does the regret vanish? Two tests of Park et al. 2025, and a bootstrap where their coins are not fair.

Everything here is a pure function of regret curves. The tests are those of Section 3.2 of Park, Liu,
Ozdaglar and Zhang, "Do LLM Agents Have Regret?", ICLR 2025. Both treat the rounds of one curve as if they
were independent, which regret is not: its average R_t / t is a running mean, so it drifts. `block_interval`
keeps that dependence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.statistics import holm

NUM_RESAMPLES = 2000
TIE = 1e-12
"""Averages that differ by less than this share of the largest one are equal: they are rounded."""


class Trend(msgspec.Struct, frozen=True):
    """Trend checking.

    Attributes:
        falls: s, how many rounds t = 1 … T − 1 have R_t / t > R_{t+1} / (t + 1).
        rounds: T − 1.
        p_value: of s or more heads in T − 1 throws of a fair coin; None where every comparison is a tie.
    """

    falls: int
    rounds: int
    p_value: float | None


class Growth(msgspec.Struct, frozen=True):
    """The regression of log R_t on log t.

    Attributes:
        exponent: β̂₀, so that R_t grows like t^β̂₀; None where there is no fit.
        constant: the fitted log R at t = 1.
        low, high: the exponent's 95 % interval, of independent normal residuals.
        p_value: of β₀ < 1 against β₀ ≥ 1, one-sided.
        left_out: rounds with R_t ≤ 0, which have no logarithm.
    """

    exponent: float | None
    constant: float | None
    low: float | None
    high: float | None
    p_value: float | None
    left_out: int


def trend_check(regret: npt.ArrayLike) -> Trend:
    """Whether R_t / t falls more often than a fair coin shows heads.

    Under H0 each of the T − 1 comparisons falls with probability 1/2, independently, so
    p = Σ_{s' ≥ s} C(T − 1, s') 2^{−(T − 1)}. A tie is not a fall.

    Args:
        regret: R_1 … R_T, shape (T,).
    """
    average = np.asarray(regret, dtype=float)
    average = average / np.arange(1, len(average) + 1)
    change = np.diff(average)
    moved = np.abs(change) > TIE * np.abs(average).max(initial=0.0)
    falls, rounds = int((moved & (change < 0)).sum()), len(change)
    if not moved.any():
        return Trend(0, rounds, None)
    heads = sum(math.comb(rounds, s) for s in range(falls, rounds + 1))
    # Whole numbers divide exactly, where 2**rounds has no float.
    return Trend(falls, rounds, heads / 2**rounds)


def growth(regret: npt.ArrayLike) -> Growth:
    """The least-squares fit log R_t = β₀ log t + const, over the rounds with R_t > 0.

    There is no fit where fewer than half of the rounds, or fewer than three, have a logarithm.

    Args:
        regret: R_1 … R_T, shape (T,).
    """
    from scipy import stats

    regret = np.asarray(regret, dtype=float)
    slopes, constants = _lines(regret[None])
    slope, constant = float(slopes[0]), float(constants[0])
    positive = regret > 0
    left_out = int((~positive).sum())
    if np.isnan(slope):
        return Growth(None, None, None, None, None, left_out)
    x = np.log(np.arange(1, len(regret) + 1)[positive])
    residual = np.log(regret[positive]) - slope * x - constant
    freedom = len(x) - 2
    spread = math.sqrt(residual @ residual / freedom / ((x - x.mean()) ** 2).sum())
    half = float(stats.t.ppf(0.975, freedom)) * spread
    straight = spread <= TIE
    p_value = float(slope >= 1 - TIE) if straight else float(stats.t.cdf((slope - 1) / spread, freedom))
    return Growth(slope, constant, slope - half, slope + half, p_value, left_out)


class BlockInterval(msgspec.Struct, frozen=True):
    """What a block bootstrap says of the exponent.

    Attributes:
        low, high: its 95 % interval; None where there is no fit.
        p_value: of β₀ < 1 against β₀ ≥ 1, one-sided.
    """

    low: float | None
    high: float | None
    p_value: float | None


def block_interval(
    regret: npt.ArrayLike, *, seed: int = 0, num_resamples: int = NUM_RESAMPLES
) -> BlockInterval:
    """The exponent's interval by a block bootstrap of the increments of regret.

    Regret is a sum, so its errors add up from round to round, and around a fitted curve they are far
    from independent. Here the increments of R_t around those of the fitted c t^β̂₀ are resampled in
    circular blocks of ⌈T^{1/3}⌉ rounds (Politis and Romano 1992), summed up again and fitted again; within a
    block they keep their dependence.

    Args:
        regret: R_1 … R_T, shape (T,).
        seed: of the resamples.
        num_resamples: how many.
    """
    regret = np.asarray(regret, dtype=float)
    horizon = len(regret)
    slopes, constants = _lines(regret[None])
    if np.isnan(slopes[0]):
        return BlockInterval(None, None, None)
    fitted = np.exp(constants[0]) * np.arange(1.0, horizon + 1) ** slopes[0]
    errors = np.diff(regret - fitted, prepend=0.0)
    errors -= errors.mean()
    length = math.ceil(horizon ** (1 / 3))
    rng = np.random.default_rng(seed)
    starts = rng.integers(horizon, size=(num_resamples, math.ceil(horizon / length)))
    rounds = (starts[:, :, None] + np.arange(length)).reshape(num_resamples, -1)[:, :horizon] % horizon
    drawn, _ = _lines(fitted + errors[rounds].cumsum(1))
    drawn = drawn[~np.isnan(drawn)]
    if 2 * len(drawn) < num_resamples:
        return BlockInterval(None, None, None)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return BlockInterval(float(low), float(high), float(((drawn >= 1 - TIE).sum() + 1) / (len(drawn) + 1)))


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the tests say of one agent on one task.

    Attributes:
        task, agent: which.
        num_runs: the runs whose mean regret was tested.
        regret: the mean regret after every round, R_1 … R_T.
        trend, growth, blocks: the tests.
        trend_holm, growth_holm, blocks_holm: their p-values after Holm's correction over all tasks and agents
            that were tested together.
    """

    task: str
    agent: str
    num_runs: int
    regret: tuple[float, ...]
    trend: Trend
    trend_holm: float | None
    growth: Growth
    growth_holm: float | None
    blocks: BlockInterval
    blocks_holm: float | None


def verdicts(curves: Mapping[tuple[str, str], FloatArray], *, seed: int = 0) -> list[Verdict]:
    """The tests of every task and agent, on the mean regret of the runs, with Holm's correction.

    Args:
        curves: regret after every round, shape (num_runs, T), by task and agent.
        seed: of the resamples.
    """
    means = {key: np.asarray(runs, dtype=float).mean(0) for key, runs in curves.items()}
    trends = {key: trend_check(mean) for key, mean in means.items()}
    growths = {key: growth(mean) for key, mean in means.items()}
    blocks = {key: block_interval(mean, seed=seed) for key, mean in means.items()}
    corrected = [
        _holm({key: test.p_value for key, test in tests.items()}) for tests in (trends, growths, blocks)
    ]
    return [
        Verdict(
            task=task,
            agent=agent,
            num_runs=len(curves[task, agent]),
            regret=tuple(mean.tolist()),
            trend=trends[task, agent],
            trend_holm=corrected[0].get((task, agent)),
            growth=growths[task, agent],
            growth_holm=corrected[1].get((task, agent)),
            blocks=blocks[task, agent],
            blocks_holm=corrected[2].get((task, agent)),
        )
        for (task, agent), mean in means.items()
    ]


def _holm(p_values: Mapping[tuple[str, str], float | None]) -> dict[tuple[str, str], float]:
    known = {key: p for key, p in p_values.items() if p is not None}
    return dict(zip(known, holm(np.array(list(known.values()))).tolist(), strict=True))


def _lines(curves: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes and constants of log R_t on log t for curves (num_curves, T); NaN where there is no fit."""
    positive = curves > 0
    count = positive.sum(1)
    fits = (2 * count >= curves.shape[1]) & (count >= 3)
    x = np.log(np.arange(1, curves.shape[1] + 1))
    y = np.log(curves, where=positive, out=np.zeros_like(curves))
    n = np.maximum(count, 1)
    x_mean, y_mean = (positive * x).sum(1) / n, y.sum(1) / n
    centered = (x - x_mean[:, None]) * positive
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = np.where(fits, (centered * y).sum(1) / (centered**2).sum(1), np.nan)
    return slopes, y_mean - slopes * x_mean
