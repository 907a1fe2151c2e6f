"""What cells will ask of somebody else, told before they are run: requests and tokens."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from regret_envs.agents import registry
from regret_envs.agents.usage import Asking, Expense
from regret_envs.benchmarks.running.cells import Cell
from regret_envs.benchmarks.running.runner import seated
from regret_envs.benchmarks.tasks.task import make_feedback, make_world


def expense(cells: Iterable[Cell]) -> Expense:
    """What the cells will take at most: answers that are in the cache are not taken off.

    Agents that cannot be made, or not for their task, take nothing: their cells say why when they are run.
    """
    found: dict[tuple[str, ...], Expense] = {}
    requests = tokens = 0
    for cell in cells:
        if not any(_asks(spec) for spec in cell.seats):
            continue
        key = cell.task.id, *cell.seats
        if key not in found:
            found[key] = _of_one_run(cell)
        requests += cell.num_runs * found[key].requests
        tokens += cell.num_runs * found[key].tokens
    return Expense(requests, tokens)


def _of_one_run(cell: Cell) -> Expense:
    requests = tokens = 0
    try:
        world, layers = make_world(cell.task), make_feedback(cell.task)
        num_actions = world.seats(world.default_seats())
        agents = seated(cell, num_actions, layers, make=registry.make)
        for seat, d in enumerate(num_actions):
            agent = agents[min(seat, len(agents) - 1)]
            if isinstance(agent, Asking):
                agent.describe(world, seat)
                one = agent.expense(d, horizon=cell.task.horizon, num_runs=1)
                requests, tokens = requests + one.requests, tokens + one.tokens
    except Exception:  # whatever keeps an agent from being made is told where it is run
        return Expense(0, 0)
    return Expense(requests, tokens)


@functools.cache
def _asks(spec: str) -> bool:
    """Whether an agent asks somebody else; one that cannot be made does not."""
    try:
        return isinstance(registry.make(spec), Asking)
    except Exception:
        return False
