"""Benchmarks from Python: tasks and agents are objects, and no files are needed.

from regret_envs.benchmarks import evaluate, leaderboard

rows = evaluate({"mine": Mine(alpha=2), "hedge": "hedge"}, tasks="smoke", runs=16)
print(leaderboard(rows).overall[0])
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
from collections.abc import Iterable, Mapping
from concurrent.futures import Future

import msgspec

from regret_envs.agents import Agent, registry
from regret_envs.agents.inputs import files_read
from regret_envs.benchmarks.running import driver, planning, runner
from regret_envs.benchmarks.running.executors import LocalPool
from regret_envs.benchmarks.running.pace import Pace, logger
from regret_envs.benchmarks.running.rows import Row
from regret_envs.benchmarks.tasks.suites import find_tasks
from regret_envs.benchmarks.tasks.task import Task
from regret_envs.progress import every_minute


def evaluate(
    agents: Mapping[str, Agent | str] | Iterable[str],
    *,
    tasks: str | Iterable[Task] = "core",
    runs: int = 64,
    seed: int = 0,
    num_workers: int | None = None,
    allow_llm: bool = False,
    cell_timeout: float | None = None,
    force: bool = False,
) -> list[Row]:
    """Run agents on tasks; the rows go to `leaderboard`, `compare`, `report` or a `results.Writer`.

    Logs what is done, what failed and the time left at the level INFO once a minute, under `regret_envs`.

    Args:
        agents: specs, or a mapping from names to specs and agent objects. Objects are copied for every seat
            and cell; they never play themselves.
        tasks: suites, tasks and suite files as on the command line, or task objects.
        runs: runs per task, except where the task fixes them.
        seed: the seed.
        num_workers: worker processes; None: this process, for agents that do not pickle.
        allow_llm: whether language models connect that a suite file names.
        cell_timeout: seconds that a cell (up to 64 runs) may run; one that runs longer fails. None: no limit.
        force: whether to play what is estimated not to end or not to fit into memory.

    Raises:
        ValueError: if an object has the name of a registered agent, or a name or spec is malformed; and as
            `suites.find_tasks`.
    """
    named = dict(agents) if isinstance(agents, Mapping) else {spec: spec for spec in agents}
    live = {name: agent for name, agent in named.items() if isinstance(agent, Agent)}
    known = registry.known_agents()[0]
    for name in live:
        if name in known or registry.canonical(name) != name or ":" in name:
            raise ValueError(
                f"{name!r} cannot name an agent object: choose a word that does not name an agent"
            )
    specs = [agent if isinstance(agent, str) else name for name, agent in named.items()]
    chosen = find_tasks(tasks, force=force) if isinstance(tasks, str) else list(tasks)
    planned = planning.plan(
        "evaluate", chosen, specs, runs=runs, seed=seed, force=force, inputs=_inputs(specs)
    )
    cells = [
        msgspec.structs.replace(cell, source=_source(live[cell.agent])) if cell.agent in live else cell
        for cell in planned
    ]
    make = functools.partial(registry.make, objects=live)
    measure = functools.partial(runner.measure, make=make, allow_llm=allow_llm)
    with LocalPool(num_workers) if num_workers else _Here() as pool:
        rows = []
        pace = Pace(cells)
        with every_minute(logger, pace.__str__):
            for finished in driver.run(cells, pool, measure=measure, cell_timeout=cell_timeout):
                pace.advance(finished)
                rows += [row for cell_rows in finished for row in cell_rows]
        return rows


def _inputs(specs: Iterable[str]) -> dict[str, dict[str, str]]:
    """The files of the custom agents; one that cannot be made says so when it is run."""
    found = {}
    for spec in specs:
        with contextlib.suppress(Exception):
            found[spec] = files_read(spec) if registry.custom_modules(spec) else {}
    return found


def _source(agent: Agent) -> str | None:
    """Distinguishes objects with the same name; None for one that does not pickle."""
    try:
        return hashlib.sha256(pickle.dumps(agent)).hexdigest()
    except Exception:  # pickling may raise anything
        return None


class _Here:
    """A pool that runs everything in this process."""

    num_workers = 1

    def submit(self, function, /, *args):  # type: ignore[no-untyped-def]
        future: Future[object] = Future()
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)
            if isinstance(error, KeyboardInterrupt):
                raise
        return future

    def restart(self) -> None:
        """Nothing to start."""

    def explain(self, error: Exception) -> None:
        """Nothing to explain."""

    def running(self) -> dict[str, float]:
        """See `Pool`. It cannot tell."""
        return {}

    def kill(self, key: str) -> None:
        """See `Pool`. It cannot."""

    def close(self, *, now: bool = False) -> None:
        """Nothing to end."""

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *error: object) -> None:
        pass
