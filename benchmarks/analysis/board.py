"""What a leaderboard holds: estimates, entries, scores and their tables."""

from __future__ import annotations

import msgspec

from regret_envs.benchmarks.running.rows import Status

MARK = "†"
"""Stands at an agent that often gave no answer; see `Leaderboard.fallbacks`."""
MARGIN = 0.001
"""The default equivalence margin, as a share of a metric's normalization."""


class Estimate(msgspec.Struct, frozen=True):
    """A mean over runs and its standard error (None for a single run, or runs that are copies of one)."""

    mean: float
    standard_error: float | None
    num_runs: int


class Entry(msgspec.Struct, frozen=True):
    """An agent on a task.

    Attributes:
        agent: its spec.
        status: "failed" if any of its cells failed.
        rank: by the table's first metric, shared by agents that cannot be told apart; None unless
            the status is "ok".
        overlaps: whether the mean ± 1.96 standard errors meets that of the agent before or after.
        estimates: one per metric; empty unless the status is "ok".
        failed: how many of its cells failed.
        message: why not, where the status is not "ok".
    """

    agent: str
    status: Status
    rank: int | None
    overlaps: bool
    estimates: dict[str, Estimate]
    failed: int
    message: str | None


class TaskTable(msgspec.Struct, frozen=True):
    """All agents on one task at its horizon, best first.

    Attributes:
        task, version, horizon: the task.
        metrics: the metrics, the ranking one first.
        higher_is_better: those of which more is better.
        entries: the agents.
    """

    task: str
    version: int
    horizon: int
    metrics: tuple[str, ...]
    higher_is_better: tuple[str, ...]
    entries: list[Entry]


class Score(msgspec.Struct, frozen=True):
    """An agent over all common tasks.

    Attributes:
        agent: its spec.
        rank: by the score, shared by agents that cannot be told apart; None if there is no score.
        overlaps: whether the interval meets that of the agent before or after.
        score: the mean over the common tasks of the normalized metric.
        low, high: 95 % bootstrap interval over runs; None where every task has a single run
            or copies of one.
        mean_rank: the mean over the common tasks of its rank, 1 the best; see `statistics.mean_ranks`.
        iqm: the interquartile mean of all runs.
        iqm_low, iqm_high: its 95 % interval; None where it was not asked for.
        worst_task, worst: the common task on which its score is worst, and that score.
        num_runs: over the common tasks.
        not_applicable, failed: on how many tasks.
    """

    agent: str
    rank: int | None
    overlaps: bool
    score: float | None
    low: float | None
    high: float | None
    mean_rank: float | None
    iqm: float | None
    iqm_low: float | None
    iqm_high: float | None
    worst_task: str | None
    worst: float | None
    num_runs: int
    not_applicable: int
    failed: int


class Partial(msgspec.Struct, frozen=True):
    """An agent that finished less than half of the tasks, which leaves it out of the scores.

    Attributes:
        agent: its spec.
        tasks: those that it finished.
        num_tasks: of how many.
        mean: its mean normalized metric on them.
    """

    agent: str
    tasks: list[str]
    num_tasks: int
    mean: float


class ScoreTable(msgspec.Struct, frozen=True):
    """All agents by their score in one metric, over the tasks that all scored agents have in common.

    Attributes:
        metric: the metric.
        higher_is_better: its direction.
        margin: the equivalence margin: scores that differ by no more share a rank.
        common_tasks: the tasks.
        scores: the agents; those that finished less than half of the tasks have no score.
        partial: what the latter did on the tasks that they finished.
        reason: why no task is in common; None where one is.
    """

    metric: str
    higher_is_better: bool
    margin: float
    common_tasks: list[str]
    scores: list[Score]
    partial: list[Partial]
    reason: str | None


class Leaderboard(msgspec.Struct, frozen=True):
    """Every task's table, the scores over tasks, and notes on what was left out.

    Attributes:
        tasks, overall, notes: these.
        fallbacks: the share of decisions that uniform play took the place of, of the agents where it is
            above 1 %: language models whose answers could not be read.
    """

    tasks: list[TaskTable]
    overall: list[ScoreTable]
    notes: list[str]
    fallbacks: dict[str, float] = {}
