"""Cells, and what is measured of one.

A cell is one task, one agent and one block of runs. What a cell comes to depends on nothing else,
so cells may be measured in any order, anywhere.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from regret_envs import metrics
from regret_envs.agents import Agent, Optimiser, registry
from regret_envs.agents.stackelberg_leader import best_plan
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.running.results import Cells, Row
from regret_envs.benchmarks.running.states import State
from regret_envs.benchmarks.tasks.task import (
    METRICS,
    OUTCOME_METRICS,
    RECORDED_METRICS,
    Task,
    make_feedback,
    make_world,
)
from regret_envs.feedback import Feedback, unfit
from regret_envs.games import Game, NormalFormGame
from regret_envs.play import Simulation
from regret_envs.play.simulation import Recorded
from regret_envs.worlds import World

BLOCK_RUNS = 64
KEY_VERSION = 1
_CODE_VERSION = version("regret-envs")


class Cell(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What is measured in one go; small and picklable.

    Attributes:
        suite: the suite that it is measured for; no part of the key.
        task: the task.
        agent: the agent's spec, canonical.
        source: the hash of a custom agent's source, or None.
        data: the fingerprint of the recorded data that the task plays or of a custom world's source,
            or None.
        seed: the seed.
        block: number of the seed block: its first run is `block * BLOCK_RUNS`.
        num_runs: runs in the block, at most BLOCK_RUNS.
        num_actions: d, the largest over players; follows from the task.
        opponent: the spec of the agent in seat 1 of a tournament's pairing; None: self-play.
    """

    suite: str
    task: Task
    agent: str
    source: str | None
    data: str | None
    seed: int
    block: int
    num_runs: int
    num_actions: int
    opponent: str | None = None

    @cached_property
    def identity(self) -> str:
        """Hash of what is measured: the task, its data, the agent and its source."""
        task = msgspec.to_builtins(self.task)
        del task["summary"]
        # Left out where they say nothing, so that the keys of tasks without them stay what they were.
        for later in ("feedback", "optimiser"):
            if not task[later]:
                del task[later]
        pairing = [self.opponent] if self.opponent else []
        return _digest([KEY_VERSION, task, self.data, self.agent, self.source, *pairing])

    @cached_property
    def key(self) -> str:
        """Hash of the identity, the seed and the runs: cells of one key come to the same."""
        return _digest([self.identity, self.seed, self.block, self.num_runs])

    @property
    def cost(self) -> float:
        """About how long it takes next to others, for putting long cells first and telling the time left."""
        return self.task.horizon * (20 + self.num_actions**2 * (0.2 + 0.01 * self.num_runs))


def missing(cells: Iterable[Cell], done: Cells) -> list[Cell]:
    """The cells that are not done: not there, or failed the last time."""
    return [cell for cell in cells if cell.key not in done or done[cell.key][0].status == "failed"]


def _digest(content: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:16]


def plan(suite: str, tasks: Iterable[Task], agents: Iterable[str], *, runs: int, seed: int) -> list[Cell]:
    """The cells of every task with every agent, long ones first.

    Args:
        suite: the suite's name, for the rows.
        tasks: the tasks.
        agents: agent specs.
        runs: runs a task, except where the task fixes them.
        seed: the seed; tasks of a fixed number of runs have seed 0.

    Raises:
        ValueError: if a spec is malformed or a task's world cannot be made.
        ImportError: if a custom agent's module is not found.
    """
    sources = {registry.canonical(spec): registry.source_hash(spec) for spec in agents}
    cells = []
    for task in tasks:
        world = make_world(task)
        data = getattr(world, "fingerprint", None)
        if ":" in task.world:
            data = _digest([data, registry.source_hash(task.world)])
        num_actions = max(world.seats(_num_seats(world)))
        total, task_seed = (runs, seed) if task.num_runs is None else (task.num_runs, 0)
        cells += [
            Cell(
                suite=suite,
                task=task,
                agent=agent,
                source=source,
                data=data,
                seed=task_seed,
                block=first // BLOCK_RUNS,
                num_runs=min(BLOCK_RUNS, total - first),
                num_actions=num_actions,
            )
            for agent, source in sources.items()
            for first in range(0, total, BLOCK_RUNS)
        ]
    return sorted(cells, key=lambda cell: -cell.cost)


def shared_imports(cells: Iterable[Cell]) -> list[str]:
    """Modules that take long to import and that agents of the cells need: those of the extras."""
    names = {registry.parse(agent)[0] for agent in {cell.agent for cell in cells}}
    extras = {registry.AGENTS[name].requires for name in names & registry.AGENTS.keys()}
    return sorted(extra for extra in extras if extra)


MANY_SEATS = 8


def needed_modules(cells: Iterable[Cell]) -> dict[str, str]:
    """What workers must have: this version of regret-envs, and the source of custom agents and worlds."""
    specs = {spec for cell in cells for spec in (cell.agent, cell.opponent) if spec}
    specs |= {cell.task.world for cell in cells if ":" in cell.task.world}
    modules = sorted({m for spec in specs for m in registry.custom_modules(spec)})
    return {"regret_envs": _CODE_VERSION} | {m: registry.source_hash(f"{m}:Any") or "" for m in modules}


def measure(
    cell: Cell, *, states: Path | None = None, make: Callable[[str], Agent] | None = None
) -> list[Row]:
    """Play a cell and measure it: one row a metric and round.

    An agent that raises or misplays gives a single "failed" row with the traceback, one that does
    not play such problems a single "n/a" row with the reason; nothing an agent does raises here.

    Args:
        cell: the cell.
        states: a folder for the states of cells that take long. A cell that was interrupted goes on from
            there, to the same numbers as one that was not. The files are pickles: a folder of one's own.
        make: makes an agent of a spec; None: `registry.make`.
    """
    make = make or registry.make
    state = State(None if states is None else states / f"{cell.key}-{_CODE_VERSION}.state")
    try:
        task = cell.task
        world = make_world(task)
        seats = world.seats(_num_seats(world))
        layers = make_feedback(task)
        # One agent plays many seats that are alike, which is faster than one each.
        alike = len(seats) > MANY_SEATS and len(set(seats)) == 1 and not layers
        agents = [make(cell.agent) for _ in (seats[:1] if alike else seats)]
        # Where there is an optimiser, it has seat 0.
        for agent, d in list(zip(agents, seats, strict=False))[task.optimiser :]:
            reason = unfit(agent, layers) or agent.unsupported(d, horizon=task.horizon)
            if reason is not None:
                return [cell_row(cell, status="n/a", message=_text(reason))]
        if task.optimiser:
            if not isinstance(world, NormalFormGame):
                raise TypeError(f"an optimiser plays a game of two players, and {world!r} is none")
            plan, _ = best_plan(world, make(cell.agent), horizon=task.horizon)
            agents[0] = Optimiser([plan])
        measured = _play(cell, world, agents[0] if alike else agents, layers, state)
    except Exception as error:
        first = cell.block * BLOCK_RUNS
        error.add_note(
            f"agent {cell.agent}, task {cell.task.id}, runs {first} to {first + cell.num_runs - 1}"
        )
        state.drop()
        return [failed_row(cell, "".join(traceback.format_exception(error)))]
    state.drop()
    return [
        cell_row(
            cell,
            status="ok",
            part=part,
            parts=len(measured),
            metric=metric,
            round=t,
            values=tuple(values.tolist()),
        )
        for part, (metric, t, values) in enumerate(measured)
    ]


def _num_seats(world: World) -> int:
    return world.num_players if isinstance(world, Game) else 1


Measured = list[tuple[str, int, FloatArray]]


def _play(
    cell: Cell,
    world: World,
    agents: Agent | Sequence[Agent],
    layers: Sequence[Feedback],
    state: State,
) -> Measured:
    """(metric, round, one value a run) of every metric at logarithmically spaced rounds."""
    task = cell.task
    record: tuple[Recorded, ...] = ("policies", "losses")
    if RECORDED_METRICS.isdisjoint(task.metrics):
        record = ()
    # What overflows or is not a number is caught, and named, by the checks of what comes out.
    with np.errstate(all="ignore"):
        kept: tuple[Simulation, list[tuple[str, int, FloatArray]]] | None = state.load()
        simulation, measured = kept or (
            Simulation(
                world,
                agents,
                horizon=task.horizon,
                num_runs=cell.num_runs,
                seed=cell.seed,
                first_run=cell.block * BLOCK_RUNS,
                starting_loss_scale=task.starting_loss_scale,
                feedback=layers,
                record=record,
                outcomes=not OUTCOME_METRICS.isdisjoint(task.metrics),
            ),
            [],
        )

        def keep(t: int) -> None:
            state.keep(t / task.horizon, (simulation, measured))

        for t in metrics.log_spaced_rounds(task.horizon):
            if measured and t <= measured[-1][1]:
                continue
            simulation.advance(t, progress=keep)
            play = simulation.play()
            for name in task.metrics:
                values = METRICS[name](play)
                if not np.isfinite(values).all():
                    raise ValueError(f"{name} is not finite in round {t}: {values}")
                measured.append((name, t, values))
    return sorted(measured, key=lambda row: task.metrics.index(row[0]))


def failed_row(cell: Cell, message: str) -> Row:
    """The row of a cell that came to nothing."""
    return cell_row(cell, status="failed", message=_text(message))


def _text(said: object) -> str:
    """What an agent said, as a file can hold it: not every string can be written as UTF-8."""
    return str(said).encode("utf-8", "backslashreplace").decode()


def cell_row(cell: Cell, *, part: int = 0, parts: int = 1, **fields: Any) -> Row:
    """A row of the cell; what was measured, or why there is nothing, as fields of `Row`."""
    return Row(
        key=cell.key,
        identity=cell.identity,
        part=part,
        parts=parts,
        suite=cell.suite,
        task=cell.task.id,
        task_version=cell.task.version,
        agent=cell.agent,
        opponent=cell.opponent,
        source=cell.source,
        seed=cell.seed,
        block=cell.block,
        num_runs=cell.num_runs,
        num_actions=cell.num_actions,
        loss_scale=cell.task.loss_scale,
        code_version=_CODE_VERSION,
        **fields,
    )
