"""`validate`: does anybody's regret vanish? Plays agents, tests their regret, and shows what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from regret_envs.agents import Agent
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.tables import Table
from regret_envs.benchmarks.analysis.vanishing import Verdict, verdicts
from regret_envs.benchmarks.running.evaluation import evaluate
from regret_envs.benchmarks.running.rows import Row, complete_cells
from regret_envs.benchmarks.tasks.suites import default_runs, find_tasks
from regret_envs.benchmarks.tasks.task import Task

METRIC = "external_regret"


def validate(
    agents: Mapping[str, Agent | str] | Iterable[str],
    *,
    tasks: str | Iterable[Task] = "language",
    runs: int | None = None,
    seed: int = 0,
    num_workers: int | None = None,
    allow_llm: bool = False,
    force: bool = False,
) -> list[Verdict]:
    """Play agents on tasks and test whether their regret vanishes.

    The tests of Park et al. 2025, and a block bootstrap, on the mean external regret of the runs, with Holm's
    correction over all tasks and agents; see `regret_envs.benchmarks.analysis.vanishing`.

    Args:
        agents: specs, or names to specs and agent objects, as in `evaluate`.
        tasks: suites, tasks and suite files as on the command line, or task objects.
        runs: runs per task, except where the task fixes them; None: the suite's.
        seed: the seed of the play and of the resamples.
        num_workers: processes; None: this process.
        allow_llm: whether language models that a suite file names may connect.
        force: as in `evaluate`.

    Raises:
        RuntimeError: if a cell failed; names it.
        ValueError: as `evaluate`.
    """
    chosen = find_tasks(tasks, force=force) if isinstance(tasks, str) else list(tasks)
    rows = evaluate(
        agents,
        tasks=regret_tasks(chosen),
        runs=runs or (default_runs(tasks) if isinstance(tasks, str) else 64),
        seed=seed,
        num_workers=num_workers,
        allow_llm=allow_llm,
        force=force,
    )
    for row in rows:
        if row.status == "failed":
            raise RuntimeError(f"{row.agent} on {row.task}: {row.reason}")
    return verdicts(regret_curves(rows), seed=seed)


def regret_tasks(tasks: Iterable[Task]) -> list[Task]:
    """The tasks with external regret as their only metric, after every round."""
    return [
        msgspec.structs.replace(task, metrics=(METRIC,), rounds=tuple(range(1, task.horizon + 1)))
        for task in tasks
    ]


def regret_curves(rows: Iterable[Row]) -> dict[tuple[str, str], FloatArray]:
    """External regret after every round, shape (num_runs, T), by task and agent.

    Args:
        rows: of cells measured in every round; those without values are left out.
    """
    blocks: dict[tuple[str, str], dict[int, FloatArray]] = {}
    for cell in complete_cells(rows).values():
        if cell[0].status == "ok":
            curve = np.array([row.values for row in sorted(cell, key=lambda row: row.round or 0)]).T
            blocks.setdefault((cell[0].task, cell[0].agent), {})[cell[0].block] = curve
    return {key: np.concatenate([found[block] for block in sorted(found)]) for key, found in blocks.items()}


def validation_table(found: Sequence[Verdict]) -> Table:
    """One row for each task and agent; p-values are Holm's."""
    columns = ["task", "agent", "falls", "p", "exponent", "95 %", "p", "blocks 95 %", "p"]
    rows = [
        [
            verdict.task,
            verdict.agent,
            f"{verdict.trend.falls}/{verdict.trend.rounds}",
            _p(verdict.trend_holm),
            _number(verdict.growth.exponent),
            _interval(verdict.growth.low, verdict.growth.high),
            _p(verdict.growth_holm),
            _interval(verdict.blocks.low, verdict.blocks.high),
            _p(verdict.blocks_holm),
        ]
        for verdict in found
    ]
    left_out = [
        f"{v.agent} on {v.task}: {v.growth.left_out} of {len(v.regret)} rounds have R_t ≤ 0 and no logarithm"
        + ("; no fit" if v.growth.exponent is None else "")
        for v in found
        if v.growth.left_out
    ]
    runs = sorted({verdict.num_runs for verdict in found})
    note = (
        "p: of regret that does not vanish, corrected by Holm over the table. Falls: rounds in which R_t / t "
        "falls (trend checking). Exponent: β of R_t ∝ t^β by regression on log t, whose interval takes "
        "rounds for independent and is too narrow; blocks: by a block bootstrap, which does not. "
        f"Mean regret of {' or '.join(map(str, runs))} runs."
    )
    return Table(
        "Does the regret vanish?", columns, rows, numbers=len(columns) - 2, note="\n".join([note, *left_out])
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}" if value >= 1e-4 else "<1e-4"
