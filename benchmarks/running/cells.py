"""Cells: what is measured in one go, and what tells one from another.

A cell is a task's world, an agent in every seat and one block of runs. Its result depends on nothing else,
so cells may be measured in any order, anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from importlib.metadata import version
from typing import Any

import msgspec

from regret_envs.agents import registry
from regret_envs.agents.identity import portable
from regret_envs.benchmarks.running.rows import Cells, Engine
from regret_envs.benchmarks.tasks.task import Task

BLOCK_RUNS = 64
KEY_VERSION = 1
CODE_VERSION = version("regret-envs")


class Cell(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What is measured in one go; small and picklable.

    Attributes:
        suite: the suite that it is measured for; not part of the key.
        task: the task.
        seats: the canonical spec of the agent in every seat of the world; a single one fills all seats
            (self-play).
        seat: the seat of the ranked agent. None: every seat is ranked, which is self-play where one spec
            fills them all, and otherwise a tournament's pairing, in which each seat has results of its own.
        source: the hash of the custom agents' sources, or None.
        data: the fingerprint of the recorded data that the task plays or of a custom world's source,
            or None.
        files: the settings of the world that are paths; `data` is of their contents, wherever they lie.
        inputs: the hash of the files that the custom agents depend on, or None.
        opponents: the hashes of the custom agents' sources among the task's opponents, or None.
        seed: the seed.
        block: number of the seed block: its first run is `block * BLOCK_RUNS`.
        num_runs: runs in the block, at most BLOCK_RUNS.
        num_actions: d, the largest over players; follows from the task.
        engine: "numpy", or "jax" for `regret_envs.jax`, which draws streams and actions by another generator.
        written: the specs in `seats` that were written otherwise, as they were written: agents are made
            from those.
    """

    suite: str
    task: Task
    seats: tuple[str, ...]
    seat: int | None = None
    source: str | None
    data: str | None
    files: tuple[str, ...] = ()
    opponents: str | None = None
    inputs: str | None = None
    seed: int
    block: int
    num_runs: int
    num_actions: int
    engine: Engine = "numpy"
    written: dict[str, str] = {}

    @property
    def agent(self) -> str:
        """The spec of the ranked agent; of a pairing, that in seat 0."""
        return self.seats[self.seat or 0]

    @property
    def is_pairing(self) -> bool:
        """Whether each seat has results of its own."""
        return self.seat is None and len(self.seats) > 1

    @cached_property
    def _task(self) -> dict[str, Any]:
        """What of the task decides its results."""
        task: dict[str, Any] = msgspec.to_builtins(self.task)
        del task["summary"]
        task["settings"] = {k: v for k, v in task["settings"].items() if k not in self.files}
        task["opponents"] = list(map(portable, self.task.opponents))
        # Left out where they say nothing, so that the keys of tasks without them stay what they were.
        for later in ("feedback", "opponents", "seat", "rounds"):
            if not task[later]:
                del task[later]
        return task

    @cached_property
    def task_hash(self) -> str:
        """Hash of the task, its opponents' versions and sources, and the engine, whoever the agent is."""
        versions = {n: v for spec in self.task.opponents for n, v in registry.versions(spec).items()}
        return digest([self._task, versions, self.opponents, self.engine])

    @cached_property
    def identity(self) -> str:
        """Hash of what is measured: task, data, who sits where, versions, sources and the engine."""
        seats: list[Any] = []
        if len(self.seats) > 1:
            others = self.seat is not None
            named = [portable(s) if others and i != self.seat else s for i, s in enumerate(self.seats)]
            seats = [named, self.seat]
        versions = {name: v for spec in self.seats for name, v in registry.versions(spec).items()}
        engine = [] if self.engine == "numpy" else [{"engine": self.engine}]
        inputs = [{"inputs": self.inputs}] if self.inputs else []
        more = [*seats, *([versions] if versions else []), *engine, *inputs]
        return digest([KEY_VERSION, self._task, self.data, self.agent, self.source, *more])

    @cached_property
    def key(self) -> str:
        """Hash of the identity, the seed and the runs: cells with the same key have the same result."""
        return digest([self.identity, self.seed, self.block, self.num_runs])

    @property
    def cost(self) -> float:
        """About how long it takes relative to others, to start long cells first and tell the time left."""
        return self.task.horizon * (20 + self.num_actions**2 * (0.2 + 0.01 * self.num_runs))


def digest(content: Any) -> str:
    """A short hash of what JSON can hold."""
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:16]


def missing(cells: Iterable[Cell], done: Cells) -> list[Cell]:
    """The cells that are not done: not there, or failed the last time."""
    return [cell for cell in cells if cell.key not in done or done[cell.key][0].status == "failed"]


def shared_imports(specs: Iterable[str]) -> list[str]:
    """Modules that take long to import and that agents need: those of the extras."""
    names = {registry.parse(spec)[0] for spec in set(specs)}
    extras = {registry.AGENTS[name].requires for name in names & registry.AGENTS.keys()}
    return sorted(extra for extra in extras if extra)


def needed_modules(cells: Iterable[Cell]) -> dict[str, str]:
    """What workers must have: this version of regret-envs, and the source of custom agents and worlds."""
    specs = {spec for cell in cells for spec in cell.seats}
    specs |= {cell.task.world for cell in cells if ":" in cell.task.world}
    modules = sorted({m for spec in specs for m in registry.custom_modules(spec)})
    return {"regret_envs": CODE_VERSION} | {m: registry.source_hash(f"{m}:Any") or "" for m in modules}
