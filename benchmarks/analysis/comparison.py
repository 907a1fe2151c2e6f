"""Two agents, paired on common seeds, task by task."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec
import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis import statistics
from regret_envs.benchmarks.analysis.board import MARGIN, Estimate
from regret_envs.benchmarks.analysis.leaderboard import ALPHA, SCORE_METRICS
from regret_envs.benchmarks.analysis.tables import Table, headed, mean_and_error
from regret_envs.benchmarks.analysis.task_results import check_names, task_results
from regret_envs.benchmarks.running.rows import Row
from regret_envs.metrics import Metric


class Difference(msgspec.Struct, frozen=True):
    """How two agents differ in one metric on the runs that both played.

    Attributes:
        task: its id; "all": the normalized metric over the tasks (see `leaderboard`).
        metric: the metric.
        higher_is_better: its direction.
        num_runs: common runs.
        first, second: the means over them.
        difference: first minus second, the mean over runs.
        margin: the equivalence margin, in units of the difference: a smaller one does not count, its p is 1.
        standard_error: its standard error; None for a single run, or runs that are copies of one.
        p: two-sided paired t-test, over tasks with Holm's correction; None if there is nothing to
            test with.
        better: the agent that the test says is better at 5 %; where there is no test, the one of the
            better mean; None: they cannot be told apart, or are equivalent.
        improvement: the chance that a run of the first is better than a run of the second; runs within the
            margin count as half.
    """

    task: str
    metric: str
    higher_is_better: bool
    num_runs: int
    first: float
    second: float
    difference: float
    margin: float
    standard_error: float | None
    p: float | None
    better: str | None
    improvement: statistics.Interval


def compare(
    rows: Iterable[Row],
    first: str,
    second: str,
    *,
    metric: str | None = None,
    tasks: Collection[str] | None = None,
    margin: float = MARGIN,
    seed: int = 0,
) -> list[Difference]:
    """One line per task that both agents finished with common runs, then one per metric over all of them.

    Args:
        rows: result rows.
        first, second: canonical specs.
        metric: what is compared; None: each task's first metric, over tasks external and swap regret.
        tasks: task ids, in this order; None: all there are, by name.
        margin: the equivalence margin, as a share of the metric's normalization.
        seed: of the bootstrap.

    Raises:
        UnknownNameError: if no row has an agent, a task or the metric; lists the near matches.
    """
    rows, agents = list(rows), [first, second]
    check_names(rows, tasks=tasks, agents=agents, metric=metric)
    results = [
        r
        for r in task_results(rows, tasks=tasks, agents=agents)[0]
        if all(r.status(a) == "ok" for a in agents) and (metric is None or metric in r.metrics)
    ]
    found = []
    for r in results:
        m = metric or r.metrics[0]
        common = _common(r.paired(agents, m))
        if common.size:
            unit = r.normalization(m)
            found.append(_difference(r.task, r.metric(m), [common], agents, margin * unit, seed))
    adjusted = statistics.holm(np.array([np.nan if d.p is None else d.p for d in found]))
    found = [
        msgspec.structs.replace(d, p=None if np.isnan(p) else float(p), better=_better(d, p, agents))
        for d, p in zip(found, adjusted, strict=True)
    ]
    for m in [metric] if metric else SCORE_METRICS:
        having = [r for r in results if m in r.metrics]
        tables = [r.normalized(_common(r.paired(agents, m)), m) for r in having]
        if tables := [t for t in tables if t.size]:
            found.append(_difference("all", having[0].metric(m), tables, agents, margin, seed))
    return found


def _common(table: FloatArray) -> FloatArray:
    """The columns without NaN."""
    return table[:, np.isfinite(table).all(0)]


def _difference(
    task: str, metric: Metric, tables: list[FloatArray], agents: list[str], margin: float, seed: int
) -> Difference:
    pairs = statistics.paired_differences(tables, margin=margin)
    p = float(pairs.p[0, 1])
    runs = sum(t.shape[1] for t in tables)
    first, second = (float(np.mean([t[i].mean() for t in tables])) for i in (0, 1))
    found = Difference(
        task,
        metric.name,
        metric.higher_is_better,
        runs,
        first,
        second,
        float(pairs.difference[0, 1]),
        margin,
        float(pairs.standard_error[0, 1]) if pairs.num_runs[0, 1] > len(tables) else None,
        None if np.isnan(p) else p,
        None,
        statistics.probability_of_improvement(
            *([metric.sign * t[i] for t in tables] for i in (0, 1)),
            margin=margin,
            rng=np.random.default_rng(seed),
        ),
    )
    return msgspec.structs.replace(found, better=_better(found, p, agents))


def _better(d: Difference, p: float, agents: list[str]) -> str | None:
    return None if p > ALPHA else agents[0 if (d.difference < 0) != d.higher_is_better else 1]


def compare_table(found: Sequence[Difference], first: str, second: str, margin: float = MARGIN) -> Table:
    """One line per task and metric."""
    rows = [
        [
            d.task,
            headed(d.metric, d.higher_is_better),
            str(d.num_runs),
            mean_and_error(Estimate(d.difference, d.standard_error, d.num_runs)),
            "–" if d.p is None else f"{d.p:.2g}",
            {first: "first", second: "second", None: "="}[d.better],
            f"{d.improvement.estimate:.2f}",
        ]
        for d in found
    ]
    columns = ["task", "metric", "runs", "difference", "p", "better", "P(first)"]
    return Table(
        f"{first} (first) and {second} (second)", columns, rows, numbers=5, note=_compare_note(margin)
    )


def _compare_note(margin: float) -> str:
    return (
        "On the runs that both played. difference: first − second ± standard error; ↓ lower is better, ↑ "
        "higher. p: paired t-test, over tasks with Holm's correction; – where one run, or copies of one, "
        "leave nothing to test. better: at 5 %, by the mean where there is no test; = where the test cannot "
        f"tell them apart or they differ by at most the equivalence margin, {100 * margin:g} % of the "
        "normalization (p is then 1). P(first): the chance that a run of the first is better than one of the "
        "second, runs within the margin count as half. all: the normalized metric over the tasks."
    )
