"""Which results may be compared: those measured on the same task and data, whoever the agents are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cache

import msgspec

from regret_envs.benchmarks.running.cells import Cell
from regret_envs.benchmarks.running.rows import Row
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.game import tournament_task
from regret_envs.benchmarks.tasks.task import Task, make_world

CellRows = list[Row]


def comparable(cells: Iterable[CellRows]) -> tuple[list[CellRows], list[str]]:
    """The cells that were measured on what the last cell of their task was measured on.

    Args:
        cells: whole cells, in the order in which they finished; of a task's versions the latest counts.

    Returns:
        Those cells, in order, and a note on what is left out and why, and on what cannot be verified.
    """
    cells = [_verified(cell) for cell in cells]
    newest: dict[str, Row] = {}
    for cell in cells:
        if cell[0].task not in newest or cell[0].task_version >= newest[cell[0].task].task_version:
            newest[cell[0].task] = cell[0]
    kept = [cell for cell in cells if cell[0].measured_on == newest[cell[0].task].measured_on]
    left = [cell for cell in cells if cell[0].measured_on != newest[cell[0].task].measured_on]
    return kept, [*_left_out(left, kept, newest), *_unverified(kept)]


def _left_out(left: Sequence[CellRows], kept: Sequence[CellRows], newest: dict[str, Row]) -> list[str]:
    notes = []
    for task, last in newest.items():
        of_task = [cell[0] for cell in left if cell[0].task == task]
        if old := sum(row.task_version < last.task_version for row in of_task):
            notes.append(f"{task}: {old} cells of versions before {last.task_version} are left out")
        rest = [row for row in of_task if row.task_version == last.task_version]
        again = {cell[0].seats or cell[0].agent for cell in kept if cell[0].task == task}
        if done := sum((row.seats or row.agent) in again for row in rest):
            notes.append(f"{task}: {done} cells from before a change of its data or definition are left out")
        who: dict[tuple[str, str], dict[str, None]] = {}
        for row in rest:
            if (row.seats or row.agent) not in again:
                name = " against ".join(row.seats) if row.is_pairing else row.agent
                who.setdefault((_difference(row, last), _day(row)), {})[name] = None
        for (what, day), agents in who.items():
            were, it, rows = ("was", "it", "row") if len(agents) == 1 else ("were", "them", "rows")
            notes.append(
                f"{task}: {', '.join(agents)} {were} measured on {what} ({rows} of {day}); run {it} again or "
                "pass --rerun"
            )
    return notes


def _difference(row: Row, last: Row) -> str:
    """What a row was measured on, where the last one was measured on something else."""
    if row.task_hash is None:
        return "data that cannot be verified"
    if row.engine != last.engine:
        return f"another engine, {row.engine}"
    return "other data" if row.data_hash != last.data_hash else "another definition of the task"


def _day(row: Row) -> str:
    if row.date is None:
        return "an earlier version"
    day = date.fromisoformat(row.date)
    return f"{day.day} {day:%B} {day.year}"


def _unverified(kept: Sequence[CellRows]) -> list[str]:
    tasks = dict.fromkeys(cell[0].task for cell in kept if cell[0].task_hash is None)
    if not tasks:
        return []
    return [
        f"data not verified on {', '.join(tasks)}: rows of an earlier version do not say what they are of"
    ]


def _verified(cell: CellRows) -> CellRows:
    """A cell of an earlier version with the hashes of its task, if its identity says that it is that task."""
    row = cell[0]
    if row.task_hash is not None or row.schema > 1:
        return cell
    known = _known(row.task)
    if known is None or known[0].version != row.task_version:
        return cell
    task, data = known
    made = Cell(
        suite=row.suite,
        task=task,
        seats=row.seats or (row.agent,),
        seat=row.seat,
        source=row.source,
        data=data,
        seed=row.seed,
        block=row.block,
        num_runs=row.num_runs,
        num_actions=row.num_actions,
        engine=row.engine,
    )
    if made.identity != row.identity:
        return cell
    return [msgspec.structs.replace(r, task_hash=made.task_hash, data_hash=data) for r in cell]


@cache
def _known(id: str) -> tuple[Task, str | None] | None:
    """The built-in task or tournament of that id, and the fingerprint of its data."""
    task = TASKS.get(id)
    if task is None and (found := re.fullmatch(r"tournament_(\w+)_t([1-9]\d{0,9})", id)):
        try:
            task, _ = tournament_task(found[1], int(found[2]))
        except (ValueError, TypeError):
            return None
    return None if task is None else (task, getattr(make_world(task), "fingerprint", None))
