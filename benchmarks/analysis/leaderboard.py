"""The leaderboard: a pure function of result rows.

Each metric says which direction is better and how its values become scores that can be averaged over tasks
(`regret_envs.metrics.normalization`): a regret is divided by `loss_scale · sqrt(T ln d / 2)`, about what the
best algorithms guarantee; a gap is multiplied by T first, which makes it a regret.

Ranks are tie groups: agents that a paired test on their common runs cannot tell apart (at 5 %, with
Holm's correction over all pairs in the table), or whose scores differ by no more than the equivalence
margin, share one; see `statistics.tie_ranks`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis import statistics
from regret_envs.benchmarks.analysis.board import (
    MARGIN,
    MARK,
    Entry,
    Estimate,
    Leaderboard,
    Partial,
    Score,
    ScoreTable,
    TaskTable,
)
from regret_envs.benchmarks.analysis.task_results import TaskResults, check_names, task_results
from regret_envs.benchmarks.analysis.usage import fallback_shares, usage_by_agent
from regret_envs.benchmarks.running.rows import Row

SCORE_METRICS = ("external_regret", "swap_regret")
ALPHA = 0.05


def estimate(values: Sequence[float] | FloatArray) -> Estimate:
    """Mean ± standard error, the sample standard deviation (n − 1) over √n; copies are one observation."""
    x = np.asarray(values, dtype=np.float64)
    error = None if statistics.is_copied(x) else float(x.std(ddof=1) / np.sqrt(len(x)))
    return Estimate(float(x.mean()), error, len(x))


def leaderboard(
    rows: Iterable[Row],
    *,
    metric: str | None = None,
    tasks: Collection[str] | None = None,
    agents: Collection[str] | None = None,
    iqm_intervals: bool = False,
    margin: float = MARGIN,
    seed: int = 0,
) -> Leaderboard:
    """Tables and scores of the rows.

    The runs of all seeds are taken together. Of a task only the latest version counts, and of an
    agent's results on a task only those of what it is now (its source, the task's definition); what
    is left out is noted.

    Args:
        rows: result rows, in the order written.
        metric: ranks the agents; None: in each task its first metric, over tasks external and then
            swap regret.
        tasks: task ids to take, in this order; None: all there are, by name.
        agents: agent specs to take; None: all there are.
        iqm_intervals: whether the interquartile means come with intervals, which take longest.
        margin: the equivalence margin, as a share of the metric's normalization.
        seed: of the bootstrap.

    Raises:
        ValueError: if the margin is negative or not finite.
        UnknownNameError: if no row has a task, an agent or the metric; lists the near matches.
    """
    if not 0 <= margin < np.inf:
        raise ValueError(f"the equivalence margin must be at least 0 and finite, got {margin}")
    rows = list(rows)
    check_names(rows, tasks=tasks, agents=agents, metric=metric)
    results, notes = task_results(rows, tasks=tasks, agents=agents)
    results = [r for r in results if metric is None or metric in r.metrics]
    played = {agent for r in results for agent in r.played}
    used = usage_by_agent(rows, tasks={r.task for r in results})
    fallbacks = fallback_shares({agent: usage for agent, usage in used.items() if agent in played})
    notes += [
        f"{MARK} {agent}: {share:.1%} of its decisions are uniform play, since no answer could be read"
        for agent, share in fallbacks.items()
    ]
    tables = [_task_table(r, metric, margin) for r in results]
    notes += _reasons(tables)
    overall = [
        _scores([r for r in results if m in r.metrics], m, margin, iqm_intervals, seed)
        for m in ([metric] if metric else _score_metrics(results))
    ]
    return Leaderboard(tables, overall, notes, fallbacks)


def _score_metrics(results: Sequence[TaskResults]) -> Sequence[str]:
    """External and swap regret where any task has them, else the tasks' main metrics."""
    measured = {m for r in results for m in r.metrics}
    return [m for m in SCORE_METRICS if m in measured] or list(dict.fromkeys(r.metrics[0] for r in results))


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


def _task_table(r: TaskResults, metric: str | None, margin: float) -> TaskTable:
    """The agents, best first; those without a score last."""
    first = metric or r.metrics[0]
    columns = (first, *(m for m in r.metrics if m != first))
    estimates = {a: {m: estimate(r.values(a, m)) for m in columns} for a in r.played}
    sign = r.metric(first).sign
    agents = sorted(estimates, key=lambda a: sign * estimates[a][first].mean)
    costs = [sign * estimates[a][first].mean for a in agents]
    entries = []
    if agents:
        ranks = _ranks(costs, [sign * r.paired(agents, first)], margin * r.normalization(first))
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
    higher = tuple(m for m in columns if r.metric(m).higher_is_better)
    return TaskTable(r.task, r.version, r.horizon, columns, higher, entries)


def _normal_interval(e: Estimate) -> tuple[float, float] | None:
    if e.standard_error is None:
        return None
    return e.mean - 1.96 * e.standard_error, e.mean + 1.96 * e.standard_error


def _ranks(costs: Sequence[float], tables: Sequence[FloatArray], margin: float) -> list[int]:
    """Tie ranks of agents in the order of their costs, by the paired test over the tables."""
    p = statistics.holm_pairs(statistics.paired_differences(tables, margin=margin).p)
    return statistics.tie_ranks(costs, p, alpha=ALPHA)


def _scores(
    results: Sequence[TaskResults], metric: str, margin: float, iqm_intervals: bool, seed: int
) -> ScoreTable:
    """The scores over the tasks that all agents that play at least half of the tasks have in common."""
    # By name, so that the bootstrap does not depend on the order that tasks are shown in.
    results = sorted(results, key=lambda r: r.task)
    higher = bool(results) and results[0].metric(metric).higher_is_better
    sign = -1 if higher else 1
    agents = sorted({a for r in results for a in r.agents})
    played = {a: [r for r in results if r.status(a) == "ok"] for a in agents}
    scored = [a for a in played if played[a] and 2 * len(played[a]) >= len(results)]
    scored = scored or [a for a in played if played[a]]
    common = [r for r in results if all(r.status(a) == "ok" for a in scored)]

    def score(agent: str, **found: Any) -> Score:
        counts = [sum(r.status(agent) == status for r in results) for status in ("n/a", "failed")]
        none: dict[str, Any] = dict.fromkeys(Score.__struct_fields__)
        given = none | {"num_runs": 0, "overlaps": False} | found
        return Score(**given | {"agent": agent, "not_applicable": counts[0], "failed": counts[1]})

    partial = [
        Partial(
            agent,
            [r.task for r in done],
            len(results),
            float(np.mean([r.normalized(r.values(agent, metric), metric).mean() for r in done])),
        )
        for agent, done in played.items()
        if done and agent not in scored
    ]
    if not common or not scored:
        reason = _nothing_in_common(results, {a: played[a] for a in scored})
        return ScoreTable(metric, higher, margin, [], [score(a) for a in agents], partial, reason)
    samples = {a: [r.normalized(r.values(a, metric), metric) for r in common] for a in scored}
    means = {a: np.array([x.mean() for x in samples[a]]) for a in scored}
    scored.sort(key=lambda a: sign * means[a].mean())
    ranks = _ranks(
        [float(sign * means[a].mean()) for a in scored],
        [sign * r.normalized(r.paired(scored, metric), metric) for r in common],
        margin,
    )
    costs = sign * np.stack([means[a] for a in scored])
    mean_ranks = statistics.mean_ranks(costs, np.full(len(common), margin))
    intervals = statistics.bootstrap_intervals([samples[a] for a in scored], seed=seed)
    known = [
        None if all(map(statistics.is_copied, samples[a])) else (i.low, i.high)
        for a, i in zip(scored, intervals, strict=True)
    ]
    middle: Sequence[statistics.Interval | None] = [None] * len(scored)
    if iqm_intervals:
        middle = statistics.bootstrap_intervals([samples[a] for a in scored], seed=seed, statistic="iqm")
    meets = statistics.overlaps(known)
    scores = []
    for place, agent in enumerate(scored):
        worst = int(costs[place].argmax())
        interval, iqm = known[place], middle[place]
        scores.append(
            score(
                agent,
                rank=ranks[place],
                overlaps=meets[place],
                score=float(means[agent].mean()),
                low=interval and interval[0],
                high=interval and interval[1],
                mean_rank=float(mean_ranks[place]),
                iqm=statistics.interquartile_mean(samples[agent]),
                iqm_low=iqm.low if iqm and interval else None,
                iqm_high=iqm.high if iqm and interval else None,
                worst_task=common[worst].task,
                worst=float(means[agent][worst]),
                num_runs=sum(map(len, samples[agent])),
            )
        )
    scores += [score(a) for a in agents if a not in samples]
    return ScoreTable(metric, higher, margin, [r.task for r in common], scores, partial, None)


def _nothing_in_common(results: Sequence[TaskResults], played: Mapping[str, Sequence[TaskResults]]) -> str:
    """Why there are no scores: nobody finished a task, or who lacks which."""
    if not played:
        return f"no agent finished any of {', '.join(r.task for r in results) or 'the tasks'}"
    lacking = [
        f"{agent} has no result on {', '.join(r.task for r in results if r not in done)}"
        for agent, done in played.items()
        if len(done) < len(results)
    ]
    return f"no task was finished by all agents: {'; '.join(lacking)}; choose with --agents or --tasks"
