"""Planning: the cells for tasks and agents, and those of a tournament."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from regret_envs.agents import registry
from regret_envs.benchmarks.running.cells import BLOCK_RUNS, Cell, digest
from regret_envs.benchmarks.running.rows import Engine
from regret_envs.benchmarks.tasks.size import check_count, check_size
from regret_envs.benchmarks.tasks.task import (
    RANKED,
    Task,
    file_settings,
    make_feedback,
    make_world,
    seat_specs,
)
from regret_envs.feedback import Bandit, told_range
from regret_envs.worlds import Bounds, World


def plan(
    suite: str,
    tasks: Iterable[Task],
    agents: Iterable[str],
    *,
    runs: int,
    seed: int,
    engine: Engine = "numpy",
    force: bool = False,
    inputs: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Cell]:
    """The cells of every task with every agent, long ones first.

    Args:
        suite: the suite's name, for the rows.
        tasks: the tasks.
        agents: agent specs.
        runs: runs per task, except where the task fixes them.
        seed: the seed; tasks with a fixed number of runs have seed 0.
        engine: what plays them.
        force: whether cells that are estimated not to end or to fit, or too many of them, are planned too.
        inputs: the files that custom agents depend on, by spec, see `files_read`.

    Raises:
        TooLargeError: if cells would not end or not fit, or are too many; says the estimate.
        ValueError: if a spec is malformed, a task's world cannot be made or its opponents do not fit.
        ImportError: if a custom agent's module is not found.
    """
    ranked = _distinct(agents)
    sources = _Sources(inputs)
    cells: list[Cell] = []
    tasks = list(tasks)
    if not force:
        blocks = [-(-(runs if task.num_runs is None else task.num_runs) // BLOCK_RUNS) for task in tasks]
        check_count(sum(blocks) * len(ranked))
    for task in tasks:
        world = make_world(task)
        tables = [seat_specs(task, agent, world.default_seats()) for agent in ranked]
        seat = task.seat if task.opponents else None
        how: dict[str, Any] = {"runs": runs, "seed": seed, "engine": engine, "force": force}
        cells += _blocks(suite, task, world, tables, seat, sources, **how)
    return sorted(cells, key=lambda cell: -cell.cost)


def plan_tournament(
    task: Task,
    agents: Iterable[str],
    *,
    runs: int,
    seed: int,
    force: bool = False,
    inputs: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Cell]:
    """The cells of every ordered pair of agents; arguments and errors as in `plan`."""
    ranked = _distinct(agents)
    pairs = [(row, column) for row in ranked for column in ranked]
    if not force:
        check_count(len(pairs) * -(-runs // BLOCK_RUNS))
    how: dict[str, Any] = {"runs": runs, "seed": seed, "force": force}
    return _blocks("tournament", task, make_world(task), pairs, None, _Sources(inputs), **how)


def _distinct(agents: Iterable[str]) -> list[str]:
    """The specs, as they are written, that differ in their canonical text."""
    written: dict[str, str] = {}
    for spec in agents:
        written.setdefault(registry.canonical(spec), spec)
    return list(written.values())


class _Sources(dict[str, str | None]):
    """The source hash of every spec, computed once, and the files that custom agents depend on."""

    def __init__(self, inputs: Mapping[str, Mapping[str, str]] | None) -> None:
        super().__init__()
        self._inputs = {registry.canonical(spec): dict(files) for spec, files in (inputs or {}).items()}

    def __missing__(self, spec: str) -> str | None:
        self[spec] = registry.source_hash(spec)
        return self[spec]

    def of(self, seats: Iterable[str]) -> str | None:
        """The hashes of the custom agents among the seats."""
        return "-".join(source for spec in dict.fromkeys(seats) if (source := self[spec])) or None

    def inputs_of(self, seats: Iterable[str]) -> str | None:
        """The hash of the files of the agents among the seats, wherever they lie."""
        hashes = sorted({h for spec in seats for h in self._inputs.get(spec, {}).values()})
        return digest(hashes) if hashes else None


def _adapted(task: Task, world: World) -> list[Bounds]:
    """The bounds of the losses, where bandit feedback or a bandit agent's range is set from them; else none.

    They tell such cells from those of before this was so, whose agents saw losses outside their range.
    """
    layers = [layer for layer in make_feedback(task) if isinstance(layer, Bandit)]
    seats = range(world.default_seats()) if layers else ()
    bounds = [bound for seat in seats if (bound := world.loss_bounds(seat)) is not None]
    adapts = any(
        layer.offset(bound) != (layer.loss_offset or 0.0) or told_range(bound, layer.loss_offset) is not None
        for layer in layers
        for bound in bounds
    )
    return bounds if adapts else []


def _blocks(
    suite: str,
    task: Task,
    world: World,
    tables: Iterable[tuple[str, ...]],
    seat: int | None,
    sources: _Sources,
    *,
    runs: int,
    seed: int,
    force: bool,
    engine: Engine = "numpy",
) -> list[Cell]:
    """A cell for each block of runs of each table of agents, given by specs as they are written."""
    files = file_settings(task)
    data = getattr(world, "fingerprint", None)
    if ":" in task.world and not task.world.startswith("regret_envs."):
        paths = {name: Path(task.settings[name]) for name in files}
        contents = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}
        data = digest([data, registry.source_hash(task.world), *([contents] if contents else [])])
    if adapted := _adapted(task, world):
        data = digest([data, {"loss_bounds": adapted}])
    total, task_seed = (runs, seed) if task.num_runs is None else (task.num_runs, 0)
    num_actions = max(world.seats(world.default_seats()))
    if not force:
        check_size(task, world.seats(world.default_seats()), min(total, BLOCK_RUNS))
    return [
        Cell(
            suite=suite,
            task=task,
            seats=tuple(canonical),
            seat=seat,
            source=sources.of(canonical),
            data=data,
            files=files,
            opponents=sources.of(spec for spec in task.opponents if spec != RANKED),
            inputs=sources.inputs_of(canonical),
            seed=task_seed,
            block=first // BLOCK_RUNS,
            num_runs=min(BLOCK_RUNS, total - first),
            num_actions=num_actions,
            engine=engine,
            written={name: spec for name, spec in zip(canonical, seats, strict=True) if name != spec},
        )
        for seats in tables
        for canonical in [[registry.canonical(spec) for spec in seats]]
        for first in range(0, total, BLOCK_RUNS)
    ]
