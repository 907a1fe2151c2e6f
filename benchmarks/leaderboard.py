"""The leaderboard: a pure function of result rows.

Lower is better everywhere. Where scores of different tasks meet, a regret is divided by
`loss_scale · sqrt(T ln d / 2)`, about what the best algorithms guarantee (with one action, d = 1,
the score is 0); a gap is multiplied by T first, which makes it a regret.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec
import numpy as np

from regret_envs.benchmarks.results import Row, Status, complete_cells
from regret_envs.worlds import FloatArray

SCORE_METRICS = ("external_regret", "swap_regret")
NUM_RESAMPLES = 2000


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
        rank: 1 for the lowest mean of the table's first metric; None unless the status is "ok".
        estimates: one a metric; empty unless the status is "ok".
        message: why not, where the status is not "ok".
    """

    agent: str
    status: Status
    rank: int | None
    estimates: dict[str, Estimate]
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
        rank: 1 for the lowest score; None if the agent has no score.
        score: the mean over the common tasks of the normalised metric.
        low, high: 95 % bootstrap interval over runs; None where every task has a single run.
        not_applicable, failed: on how many tasks.
    """

    agent: str
    rank: int | None
    score: float | None
    low: float | None
    high: float | None
    not_applicable: int
    failed: int


class ScoreTable(msgspec.Struct, frozen=True):
    """All agents by their score in one metric, over the tasks that all scored agents have in common."""

    metric: str
    common_tasks: list[str]
    scores: list[Score]


class Leaderboard(msgspec.Struct, frozen=True):
    """Every task's table, the scores over tasks, and notes on what was left out."""

    tasks: list[TaskTable]
    overall: list[ScoreTable]
    notes: list[str]


def estimate(values: Sequence[float] | FloatArray) -> Estimate:
    """Mean ± standard error, the sample standard deviation (n − 1) over √n."""
    x = np.asarray(values, dtype=np.float64)
    error = float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else None
    return Estimate(float(x.mean()), error, len(x))


def bootstrap_interval(
    samples: Sequence[FloatArray], *, rng: np.random.Generator, level: float = 0.95
) -> tuple[float, float]:
    """Percentile interval of the mean of the samples' means, resampling within every sample.

    Stratified: a sample is a task's runs, and the tasks are taken as given (Efron 1979).

    Args:
        samples: arrays (num_runs,), one a task.
        rng: the generator.
        level: coverage.
    """
    means = np.zeros(NUM_RESAMPLES)
    for x in samples:
        means += x[rng.integers(len(x), size=(NUM_RESAMPLES, len(x)))].mean(1)
    low, high = np.quantile(means / len(samples), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def regret_unit(loss_scale: float, horizon: int, num_actions: int) -> float:
    """loss_scale · sqrt(T ln d / 2): Hedge's guarantee for losses of that range at its best step."""
    return loss_scale * float(np.sqrt(horizon * np.log(num_actions) / 2))


def ranks(values: Sequence[float]) -> list[int]:
    """1 + how many are lower; equal values share a rank."""
    x = np.asarray(values)
    return [int((x < v).sum()) + 1 for v in x]


def leaderboard(
    rows: Iterable[Row],
    *,
    metric: str | None = None,
    tasks: Collection[str] | None = None,
    agents: Collection[str] | None = None,
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
        seed: of the bootstrap.
    """
    cells = [
        cell
        for cell in complete_cells(rows).values()
        if (tasks is None or cell[0].task in tasks) and (agents is None or cell[0].agent in agents)
    ]
    cells, notes = _latest(cells)
    order = sorted({cell[0].task for cell in cells}) if tasks is None else list(tasks)
    results = [_Results(task, [c for c in cells if c[0].task == task]) for task in order]
    results = [r for r in results if r.metrics and (metric is None or metric in r.metrics)]
    tables = [r.table(metric) for r in results]
    notes += _reasons(results)
    overall = [_scores(results, m, seed) for m in ([metric] if metric else SCORE_METRICS)]
    return Leaderboard(tables, overall, notes)


def _latest(cells: Sequence[list[Row]]) -> tuple[list[list[Row]], list[str]]:
    """The cells of the latest task versions and agents, and notes of what is left out."""
    notes = []
    newest: dict[str, int] = {}
    for cell in cells:
        newest[cell[0].task] = max(cell[0].task_version, newest.get(cell[0].task, 0))
    for task, version in newest.items():
        old = sum(cell[0].task == task and cell[0].task_version < version for cell in cells)
        if old:
            notes.append(f"{task}: {old} cells of versions before {version} are left out")
    cells = [cell for cell in cells if cell[0].task_version == newest[cell[0].task]]

    identity = {(cell[0].task, cell[0].agent): cell[0].identity for cell in cells}
    kept = [cell for cell in cells if cell[0].identity == identity[cell[0].task, cell[0].agent]]
    changed = {cell[0].agent for cell in cells} if len(kept) < len(cells) else set()
    for agent in sorted(changed):
        old = sum(c[0].agent == agent for c in cells) - sum(c[0].agent == agent for c in kept)
        if old:
            notes.append(f"{agent}: {old} cells from before a change are left out")

    # Of a seed block that was run with fewer and with more runs, the longer one has it all.
    # Sorted, so that the order in which cells were finished does not show.
    blocks: dict[tuple[str, str, int, int], list[Row]] = {}
    for cell in kept:
        block = (cell[0].task, cell[0].agent, cell[0].seed, cell[0].block)
        if block not in blocks or cell[0].num_runs >= blocks[block][0].num_runs:
            blocks[block] = cell
    return [blocks[key] for key in sorted(blocks)], notes


def _reasons(results: Sequence[_Results]) -> list[str]:
    """Why agents are "n/a", and where they failed, a line each."""
    lines: dict[tuple[str, str], list[str]] = {}
    for r in results:
        for entry in r.table(None).entries:
            if entry.status != "ok":
                why = f"n/a ({entry.message})" if entry.status == "n/a" else "failed"
                lines.setdefault((entry.agent, why), []).append(r.task)
    return [f"{agent}: {why} on {', '.join(tasks)}" for (agent, why), tasks in lines.items()]


class _Results:
    """The cells of one task, latest ones alone, every agent's together."""

    def __init__(self, task: str, cells: Sequence[list[Row]]) -> None:
        self.task = task
        ok = [cell for cell in cells if cell[0].status == "ok"]
        self.metrics = tuple(dict.fromkeys(row.metric for row in ok[0] if row.metric)) if ok else ()
        self.horizon = max((row.round or 0 for row in ok[0]), default=0) if ok else 0
        self.version = cells[0][0].task_version if cells else 0
        self.unit = regret_unit(ok[0][0].loss_scale, self.horizon, ok[0][0].num_actions) if ok else 0.0
        self.agents: dict[str, list[list[Row]]] = {}
        for cell in cells:
            self.agents.setdefault(cell[0].agent, []).append(cell)

    def status(self, agent: str) -> Status | None:
        """None if the agent was not run."""
        statuses = {cell[0].status for cell in self.agents.get(agent, [])}
        order: tuple[Status, ...] = ("failed", "n/a", "ok")
        return next((s for s in order if s in statuses), None)

    def values(self, agent: str, metric: str) -> FloatArray:
        """The metric at the horizon, in every run."""
        return np.concatenate(
            [
                row.values
                for cell in self.agents[agent]
                for row in cell
                if row.metric == metric and row.round == self.horizon
            ]
        )

    def normalised(self, agent: str, metric: str) -> FloatArray:
        """The same as a regret over `regret_unit`; 0 with one action."""
        values = self.values(agent, metric)
        if not self.unit:
            return np.zeros(len(values))
        return values * (1 if "regret" in metric else self.horizon) / self.unit

    def table(self, metric: str | None) -> TaskTable:
        """The agents, best first; those without a score last."""
        first = metric or self.metrics[0]
        columns = (first, *(m for m in self.metrics if m != first))
        ok = [agent for agent in self.agents if self.status(agent) == "ok"]
        estimates = {a: {m: estimate(self.values(a, m)) for m in columns} for a in ok}
        rank = dict(zip(ok, ranks([estimates[a][first].mean for a in ok]), strict=True))
        entries = [Entry(a, "ok", rank[a], estimates[a], None) for a in sorted(ok, key=rank.__getitem__)]
        for agent, cells in self.agents.items():
            status = self.status(agent)
            if status is not None and status != "ok":
                message = next(cell[0].message for cell in cells if cell[0].status == status)
                entries.append(Entry(agent, status, None, {}, message))
        return TaskTable(self.task, self.version, self.horizon, columns, entries)


def _scores(results: Sequence[_Results], metric: str, seed: int) -> ScoreTable:
    # By name, so that the bootstrap does not depend on the order that tasks are shown in.
    results = sorted((r for r in results if metric in r.metrics), key=lambda r: r.task)
    agents = sorted({agent for r in results for agent in r.agents})
    scored = [a for a in agents if any(r.status(a) == "ok" for r in results)]
    common = [r for r in results if all(r.status(a) == "ok" for a in scored)]
    scores = []
    for agent in agents:
        score = low = high = None
        if agent in scored and common:
            samples = [r.normalised(agent, metric) for r in common]
            score = float(np.mean([x.mean() for x in samples]))
            if any(len(x) > 1 for x in samples):
                low, high = bootstrap_interval(samples, rng=np.random.default_rng(seed))
        counts = [sum(r.status(agent) == status for r in results) for status in ("n/a", "failed")]
        scores.append(Score(agent, None, score, low, high, *counts))
    found = sorted((s for s in scores if s.score is not None), key=lambda s: s.score or 0.0)
    numbers = ranks([s.score or 0.0 for s in found])
    ranked = [msgspec.structs.replace(s, rank=n) for s, n in zip(found, numbers, strict=True)]
    return ScoreTable(metric, [r.task for r in common], ranked + [s for s in scores if s.score is None])
