"""What counts of the rows, by task: the latest cells alone, and their values by agent and run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.comparable import comparable
from regret_envs.benchmarks.running.rows import Row, Status, complete_cells, metric_of
from regret_envs.metrics import Metric, normalization
from regret_envs.names import lookup


def task_results(
    rows: Iterable[Row], *, tasks: Collection[str] | None = None, agents: Collection[str] | None = None
) -> tuple[list[TaskResults], list[str]]:
    """What counts of the rows, by task; and a note on what does not. Arguments as in `leaderboard`."""
    cells = [
        cell
        for cell in complete_cells(rows).values()
        if not cell[0].is_pairing
        and (tasks is None or cell[0].task in tasks)
        and (agents is None or cell[0].agent in agents)
    ]
    cells, notes = _latest(cells)
    order = sorted({cell[0].task for cell in cells}) if tasks is None else list(tasks)
    results = [TaskResults(task, [c for c in cells if c[0].task == task]) for task in order]
    return [r for r in results if r.metrics], notes


def check_names(
    rows: Iterable[Row],
    *,
    tasks: Collection[str] | None = None,
    agents: Collection[str] | None = None,
    metric: str | None = None,
) -> None:
    """See that rows have these tasks, agents and metric; None: not asked for.

    Raises:
        UnknownNameError: if no row has one of them; lists the near matches.
    """
    rows = list(rows)
    for what, names, of in (
        ("task", tasks, lambda row: row.task),
        ("agent", agents, lambda row: row.agent),
        ("metric", None if metric is None else [metric], lambda row: row.metric),
    ):
        known = dict.fromkeys(filter(None, map(of, rows)))
        for name in names or ():
            lookup(f"{what} in the results", name, known)


def _latest(cells: Sequence[list[Row]]) -> tuple[list[list[Row]], list[str]]:
    """The cells of the latest tasks and agents, and notes of what is left out."""
    cells, notes = comparable(cells)
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


class TaskResults:
    """The cells of one task, latest ones alone, every agent's together.

    Attributes:
        task, version, horizon: the task.
        metrics: what was measured, the main one first.
        rounds: the rounds at which it was.
        num_actions: d, the largest over players.
        loss_scale: the range of the losses, or the standard deviation of Gaussian ones.
        agents: the cells of every agent that was run.
    """

    def __init__(self, task: str, cells: Sequence[list[Row]]) -> None:
        self.task = task
        ok = [cell for cell in cells if cell[0].status == "ok"]
        self.metrics = tuple(dict.fromkeys(row.metric for row in ok[0] if row.metric)) if ok else ()
        self.horizon = max((row.round or 0 for row in ok[0]), default=0) if ok else 0
        self.rounds = sorted({row.round for row in ok[0] if row.round}) if ok else []
        self.version = cells[0][0].task_version if cells else 0
        self.num_actions = ok[0][0].num_actions if ok else 0
        self.loss_scale = ok[0][0].loss_scale if ok else 0.0
        self._facts = {row.metric: metric_of(row) for row in ok[0] if row.metric} if ok else {}
        self.agents: dict[str, list[list[Row]]] = {}
        for cell in cells:
            self.agents.setdefault(cell[0].agent, []).append(cell)

    def status(self, agent: str) -> Status | None:
        """None if the agent was not run."""
        statuses = {cell[0].status for cell in self.agents.get(agent, [])}
        order: tuple[Status, ...] = ("failed", "n/a", "ok")
        return next((s for s in order if s in statuses), None)

    @property
    def played(self) -> list[str]:
        """The agents whose every cell went well."""
        return [agent for agent in self.agents if self.status(agent) == "ok"]

    def values(self, agent: str, metric: str, *, at: int | None = None) -> FloatArray:
        """The metric in every run, at a round or at the horizon."""
        return np.concatenate(
            [
                row.values
                for cell in self.agents[agent]
                for row in cell
                if row.metric == metric and row.round == (at or self.horizon)
            ]
        )

    def by_round(self, agent: str, metric: str) -> tuple[FloatArray, FloatArray]:
        """The rounds at which all the agent's runs were measured, and the values (num_rounds, num_runs)."""
        cells = [
            {row.round: row.values for row in cell if row.metric == metric} for cell in self.agents[agent]
        ]
        rounds = sorted(t for t in cells[0] if t is not None and all(t in cell for cell in cells))
        values = [np.concatenate([cell[t] for cell in cells]) for t in rounds]
        return np.array(rounds, dtype=np.float64), np.array(values)

    def runs(self, agent: str) -> list[tuple[int, int, int]]:
        """What tells the runs apart, in the order of `values`: equal ones faced the same losses."""
        cells = self.agents[agent]
        return [(c[0].seed, c[0].block, i) for c in cells for i in range(c[0].num_runs)]

    def paired(self, agents: Sequence[str], metric: str) -> FloatArray:
        """(num_agents, num_runs) of every run that an agent played, NaN where another did not."""
        columns = {run: i for i, run in enumerate(dict.fromkeys(r for a in agents for r in self.runs(a)))}
        table = np.full((len(agents), len(columns)), np.nan)
        for i, agent in enumerate(agents):
            table[i, [columns[run] for run in self.runs(agent)]] = self.values(agent, metric)
        return table

    def metric(self, name: str) -> Metric:
        """What is known of a metric: its direction, unit and normalization."""
        return self._facts[name]

    def normalization(self, name: str) -> float:
        """What the metric's values are divided by for a score; 0 with one action."""
        return normalization(
            self.metric(name).normalize,
            loss_scale=self.loss_scale,
            horizon=self.horizon,
            num_actions=self.num_actions,
        )

    def normalized(self, values: FloatArray, metric: str) -> FloatArray:
        """Values at the horizon as scores, see `metrics.normalization`; 0 with one action."""
        unit = self.normalization(metric)
        return values / unit if unit else np.zeros_like(values)
