"""What is done of a plan, what failed and what is missing; nothing that rows name is imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from regret_envs.agents import registry
from regret_envs.benchmarks.analysis.tables import Table
from regret_envs.benchmarks.running.cells import BLOCK_RUNS
from regret_envs.benchmarks.running.planning import plan
from regret_envs.benchmarks.running.rows import Cells, Engine, Row
from regret_envs.benchmarks.tasks.task import Task


class Asked(msgspec.Struct, frozen=True):
    """What a results file was filled for: the arguments of `planning.plan`."""

    suite: str
    agents: tuple[str, ...]
    runs: int
    seed: int
    engine: Engine = "numpy"


def asked_for(rows: Iterable[Row], fixed: Collection[str]) -> list[Asked]:
    """Every suite, seed and engine in the rows, with all agents and the most runs that were asked of them.

    Args:
        rows: result rows.
        fixed: ids of the tasks that fix their runs and seed, which say nothing of what was asked for
            where a suite has others.
    """
    agents: dict[str, dict[str, None]] = {}
    runs: dict[bool, dict[tuple[str, int, Engine], int]] = {False: {}, True: {}}
    for row in rows:
        if row.is_pairing:
            continue
        agents.setdefault(row.suite, {})[row.agent] = None
        counts, key = runs[row.task in fixed], (row.suite, row.seed, row.engine)
        counts[key] = max(counts.get(key, 0), row.block * BLOCK_RUNS + row.num_runs)
    free = {suite for suite, *_ in runs[False]}
    found = {**{k: v for k, v in runs[True].items() if k[0] not in free}, **runs[False]}
    return [
        Asked(suite, tuple(agents[suite]), count, seed, engine)
        for (suite, seed, engine), count in found.items()
    ]


State = tuple[str, str, str]
"""(task, agent, what its cell is: "ok", "n/a", "failed" or "missing")."""


def planned_states(asked: Asked, tasks: Sequence[Task], cells: Cells) -> dict[object, State]:
    """The state of every cell of tasks that are known by name, by what tells cells apart.

    Cells of built-in agents are told by their keys. A custom agent is not looked at: what counts as done is
    what the rows have of the task, its seed and its block.
    """
    custom = [agent for agent in asked.agents if registry.custom_modules(agent)]
    ours = [agent for agent in asked.agents if agent not in custom]
    how = {"runs": asked.runs, "seed": asked.seed, "engine": asked.engine}
    found: dict[object, State] = {}
    for cell in plan(asked.suite, tasks, ours, **how):  # type: ignore[arg-type]
        status = cells[cell.key][0].status if cell.key in cells else "missing"
        found[cell.key] = cell.task.id, cell.agent, status
    if custom:
        spots = {
            (cell.task.id, cell.seed, cell.block, cell.engine)
            for cell in plan(asked.suite, tasks, ["uniform"], **how)  # type: ignore[arg-type]
        }
        found |= _states(spots, custom, cells)
    return found


def states_of_rows(tasks: Collection[str], agents: Sequence[str], cells: Cells) -> dict[object, State]:
    """The state of every cell of tasks of which only results are known, as those in files.

    Every agent is expected to have what any agent has.
    """
    first = [cell[0] for cell in cells.values() if cell[0].task in tasks and not cell[0].is_pairing]
    spots = {(row.task, row.seed, row.block, row.engine) for row in first}
    return _states(spots, agents, cells)


def _states(
    spots: Collection[tuple[str, int, int, str]], agents: Sequence[str], cells: Cells
) -> dict[object, State]:
    last: dict[tuple[str, int, int, str, str], str] = {
        (c[0].task, c[0].seed, c[0].block, c[0].engine, c[0].agent): c[0].status for c in cells.values()
    }
    return {
        (*spot, agent): (spot[0], agent, last.get((*spot, agent), "missing"))
        for spot in sorted(spots)
        for agent in agents
    }


class CellCounts(msgspec.Struct, frozen=True):
    """How many cells of a task or an agent are in which state."""

    name: str
    cells: int
    ok: int
    not_applicable: int
    failed: int
    missing: int


def count_cells(states: Iterable[State]) -> tuple[list[CellCounts], list[CellCounts]]:
    """By task and by agent, each with a last line for all."""
    states = list(states)
    by_task = _counted((task, state) for task, _, state in states)
    return list(by_task), list(_counted((agent, state) for _, agent, state in states))


def _counted(named: Iterable[tuple[str, str]]) -> Iterator[CellCounts]:
    counts = Counter(named)
    total: Counter[str] = Counter()
    for (_, state), count in counts.items():
        total[state] += count
    lines = {name: {s: counts[name, s] for s in total} for name, _ in counts}
    for name, c in [*lines.items(), ("all", dict(total))]:
        yield CellCounts(name, sum(c.values()), *(c.get(s, 0) for s in ("ok", "n/a", "failed", "missing")))


def counts_table(what: str, lines: Sequence[CellCounts]) -> Table:
    """One line per task or agent."""
    rows = [[x.name, *map(str, (x.cells, x.ok, x.not_applicable, x.failed, x.missing))] for x in lines]
    columns = [what, "cells", "done", "n/a", "failed", "missing"]
    return Table(f"Cells by {what}", columns, rows, numbers=5)
