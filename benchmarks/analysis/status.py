"""What is done of a plan, what failed and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import msgspec

from regret_envs.benchmarks.running.cells import BLOCK_RUNS, Cell
from regret_envs.benchmarks.running.results import Cells, Engine, Row


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


class Progress(msgspec.Struct, frozen=True):
    """How many cells of a task or an agent are in which state."""

    name: str
    cells: int
    ok: int
    not_applicable: int
    failed: int
    missing: int


def progress(cells: Sequence[Cell], done: Cells) -> tuple[list[Progress], list[Progress]]:
    """By task and by agent, each with a last line for all."""
    states = {c.key: done[c.key][0].status if c.key in done else "missing" for c in cells}
    by_task = [(cell.task.id, states[cell.key]) for cell in cells]
    by_agent = [(cell.agent, states[cell.key]) for cell in cells]
    return _counted(by_task), _counted(by_agent)


def _counted(named: Sequence[tuple[str, str]]) -> list[Progress]:
    counts = Counter(named)
    total = Counter(state for _, state in named)
    lines = {name: {s: counts[name, s] for s in total} for name in dict.fromkeys(n for n, _ in named)}
    return [
        Progress(name, sum(c.values()), *(c.get(s, 0) for s in ("ok", "n/a", "failed", "missing")))
        for name, c in [*lines.items(), ("all", dict(total))]
    ]
