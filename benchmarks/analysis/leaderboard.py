"""The leaderboard: a pure function of result rows.

Lower is better everywhere. Where scores of different tasks meet, a regret is divided by
`loss_scale · sqrt(T ln d / 2)`, about what the best algorithms guarantee (with one action, d = 1,
the score is 0); a gap is multiplied by T first, which makes it a regret.

Ranks are tie groups: agents that a paired test on their common runs cannot tell apart (at 5 %, with
Holm's correction over all pairs in the table) share one; see `statistics.tie_ranks`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis import statistics
from regret_envs.benchmarks.analysis.task_results import TaskResults, task_results
from regret_envs.benchmarks.analysis.usage import fallback_shares, usage_by_agent
from regret_envs.benchmarks.running.results import Row, Status

SCORE_METRICS = ("external_regret", "swap_regret")
ALPHA = 0.05
MARK = "†"
"""Stands at an agent that often gave no answer; see `Leaderboard.fallbacks`."""


class Estimate(msgspec.Struct, frozen=True):
    """A mean over runs and its standard error (None for a single run)."""

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
        estimates: one a metric; empty unless the status is "ok".
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
    """All agents on one task at its horizon, best first; `metrics` has the ranking one first."""

    task: str
    version: int
    horizon: int
    metrics: tuple[str, ...]
    entries: list[Entry]


class Score(msgspec.Struct, frozen=True):
    """An agent over all common tasks.

    Attributes:
        agent: its spec.
        rank: by the score, shared by agents that cannot be told apart; None if there is no score.
        overlaps: whether the interval meets that of the agent before or after.
        score: the mean over the common tasks of the normalized metric.
        low, high: 95 % bootstrap interval over runs; None where every task has a single run.
        iqm: the interquartile mean with its interval; None where it was not asked for.
        num_runs: over the common tasks.
        not_applicable, failed: on how many tasks.
    """

    agent: str
    rank: int | None
    overlaps: bool
    score: float | None
    low: float | None
    high: float | None
    iqm: statistics.Interval | None
    num_runs: int
    not_applicable: int
    failed: int


class ScoreTable(msgspec.Struct, frozen=True):
    """All agents by their score in one metric, over the tasks that all scored agents have in common.

    Where some play less than half of the tasks, there is a table in which they have no score before that
    in which all have one.
    """

    metric: str
    common_tasks: list[str]
    scores: list[Score]


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


def estimate(values: Sequence[float] | FloatArray) -> Estimate:
    """Mean ± standard error, the sample standard deviation (n − 1) over √n."""
    x = np.asarray(values, dtype=np.float64)
    error = float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else None
    return Estimate(float(x.mean()), error, len(x))


def leaderboard(
    rows: Iterable[Row],
    *,
    metric: str | None = None,
    tasks: Collection[str] | None = None,
    agents: Collection[str] | None = None,
    iqm: bool = False,
    seed: int = 0,
) -> Leaderboard:
    """What the rows come to.

    The runs of all seeds are taken together. Of a task only the latest version counts, and of an
    agent's results on a task only those of what it is now (its source, the task's definition); what
    is left out is noted.

    Args:
        rows: result rows, in the order written.
        metric: ranks the agents; None: in each task its first metric, over tasks external and then
            swap regret.
        tasks: task ids to take, in this order; None: all there are, by name.
        agents: agent specs to take; None: all there are.
        iqm: whether the scores come with interquartile means, which take longest.
        seed: of the bootstrap.
    """
    rows = list(rows)
    results, notes = task_results(rows, tasks=tasks, agents=agents)
    results = [r for r in results if metric is None or metric in r.metrics]
    played = {agent for r in results for agent in r.played}
    used = usage_by_agent(rows, tasks={r.task for r in results})
    fallbacks = fallback_shares({agent: usage for agent, usage in used.items() if agent in played})
    notes += [
        f"{MARK} {agent}: {share:.1%} of its decisions are uniform play, since no answer could be read"
        for agent, share in fallbacks.items()
    ]
    tables = [_task_table(r, metric) for r in results]
    notes += _reasons(tables)
    overall = [
        _scores(results, m, compared, iqm, seed)
        for m in ([metric] if metric else SCORE_METRICS)
        for compared in _compared(results, m)
    ]
    return Leaderboard(tables, overall, notes, fallbacks)


def _reasons(tables: Sequence[TaskTable]) -> list[str]:
    """Why agents are "n/a", and where they failed, a line for those of one reason on the same tasks."""
    where: dict[tuple[str, str], list[str]] = {}
    for table in tables:
        for entry in table.entries:
            if entry.status != "ok":
                why = f"n/a ({entry.message})" if entry.status == "n/a" else "failed"
                where.setdefault((entry.agent, why), []).append(table.task)
    lines: dict[tuple[str, str], list[str]] = {}
    for (agent, why), tasks in where.items():
        on = "all tasks" if 1 < len(tables) == len(tasks) else ", ".join(tasks)
        lines.setdefault((why, on), []).append(agent)
    return [f"{', '.join(agents)}: {why} on {on}" for (why, on), agents in lines.items()]


def _task_table(r: TaskResults, metric: str | None) -> TaskTable:
    """The agents, best first; those without a score last."""
    first = metric or r.metrics[0]
    columns = (first, *(m for m in r.metrics if m != first))
    estimates = {a: {m: estimate(r.values(a, m)) for m in columns} for a in r.played}
    agents = sorted(estimates, key=lambda a: estimates[a][first].mean)
    means = [estimates[a][first].mean for a in agents]
    entries = []
    if agents:
        ranks = _ranks(means, [r.paired(agents, first)])
        meets = statistics.overlaps([_normal_interval(estimates[a][first]) for a in agents])
        entries = [
            Entry(a, "ok", rank, meet, estimates[a], 0, None)
            for a, rank, meet in zip(agents, ranks, meets, strict=True)
        ]
    for agent, cells in r.agents.items():
        status = r.status(agent)
        if status is not None and status != "ok":
            message = next(cell[0].message for cell in cells if cell[0].status == status)
            failed = sum(cell[0].status == "failed" for cell in cells)
            entries.append(Entry(agent, status, None, False, {}, failed, message))
    return TaskTable(r.task, r.version, r.horizon, columns, entries)


def _normal_interval(e: Estimate) -> tuple[float, float] | None:
    if e.standard_error is None:
        return None
    return e.mean - 1.96 * e.standard_error, e.mean + 1.96 * e.standard_error


def _ranks(means: Sequence[float], tables: Sequence[FloatArray]) -> list[int]:
    """Tie ranks of agents in the order of their means, by the paired test over the tables."""
    p = statistics.holm_pairs(statistics.paired_differences(tables).p)
    return statistics.tie_ranks(means, p, alpha=ALPHA)


def _compared(results: Sequence[TaskResults], metric: str) -> list[set[str]]:
    """The agents that are compared on what they have in common: one that plays little leaves little.

    So those that play at least half of the tasks come first, and all together after them.
    """
    results = [r for r in results if metric in r.metrics]
    played = Counter(a for r in results for a in r.agents if r.status(a) == "ok")
    most = {agent for agent, count in played.items() if 2 * count >= len(results)}
    return [most, set(played)] if 1 < len(most) < len(played) else [set(played)]


def _scores(
    results: Sequence[TaskResults], metric: str, compared: Collection[str], iqm: bool, seed: int
) -> ScoreTable:
    # By name, so that the bootstrap does not depend on the order that tasks are shown in.
    results = sorted((r for r in results if metric in r.metrics), key=lambda r: r.task)
    agents = sorted({agent for r in results for agent in r.agents})
    scored = sorted(compared)
    common = [r for r in results if all(r.status(a) == "ok" for a in scored)]

    def score(agent: str, rank: int | None = None, **found: Any) -> Score:
        counts = [sum(r.status(agent) == status for r in results) for status in ("n/a", "failed")]
        none: dict[str, Any] = dict.fromkeys(("score", "low", "high", "iqm"))
        given = none | {"num_runs": 0, "overlaps": False} | found
        return Score(agent=agent, rank=rank, not_applicable=counts[0], failed=counts[1], **given)

    if not common:
        return ScoreTable(metric, [], [score(agent) for agent in agents])
    samples = {a: [r.normalized(r.values(a, metric), metric) for r in common] for a in scored}
    means = {a: float(np.mean([x.mean() for x in samples[a]])) for a in scored}
    scored.sort(key=lambda a: means[a])
    ranks = _ranks(
        [means[a] for a in scored], [r.normalized(r.paired(scored, metric), metric) for r in common]
    )
    intervals = statistics.bootstrap_intervals([samples[a] for a in scored], seed=seed)
    middle: list[statistics.Interval | None] = [None] * len(scored)
    if iqm:
        middle = [*statistics.bootstrap_intervals([samples[a] for a in scored], seed=seed, statistic="iqm")]
    known = [
        (i.low, i.high) if any(len(x) > 1 for x in samples[a]) else None
        for a, i in zip(scored, intervals, strict=True)
    ]
    scores = [
        score(
            agent,
            rank,
            score=means[agent],
            low=interval and interval[0],
            high=interval and interval[1],
            iqm=q,
            num_runs=sum(map(len, samples[agent])),
            overlaps=meet,
        )
        for agent, rank, interval, q, meet in zip(
            scored, ranks, known, middle, statistics.overlaps(known), strict=True
        )
    ]
    return ScoreTable(
        metric, [r.task for r in common], scores + [score(a) for a in agents if a not in samples]
    )
