"""Playing a cell with the engine in JAX, `regret_envs.jax`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regret_envs.agents import Agent
from regret_envs.benchmarks.running.cells import BLOCK_RUNS, Cell
from regret_envs.benchmarks.tasks.task import rounds_of
from regret_envs.feedback import Feedback
from regret_envs.metrics import make_metric
from regret_envs.play import Play
from regret_envs.worlds import World


def play(
    cell: Cell, world: World, agents: Agent | Sequence[Agent], layers: Sequence[Feedback]
) -> list[Play] | str:
    """The play at every round of the task, in float64, or why this engine does not play the cell.

    Compiled programs are kept between processes, in JAX_COMPILATION_CACHE_DIR or the user's cache folder.

    Args:
        cell: the cell.
        world, layers: the task's.
        agents: who sits where, or one agent for all seats.

    Raises:
        MissingExtraError: if JAX is not installed.
    """
    import jax

    from regret_envs import jax as rj

    config: Any = jax.config
    if config.jax_compilation_cache_dir is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(cache / "regret-envs" / "jax"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    task = cell.task
    needs = {name: make_metric(name).needs for name in sorted(task.metrics)}
    for need, why in (("recorded", "every round's play"), ("outcomes", "the game's outcomes")):
        if unmeasured := [name for name, needed in needs.items() if need in needed]:
            return f"the engine in JAX does not keep {why}, which {', '.join(unmeasured)} needs"
    try:
        rules = (
            [rj.from_agent(agent) for agent in agents]
            if isinstance(agents, Sequence)
            else rj.from_agent(agents)
        )
        with jax.enable_x64(True):
            whole = rj.simulate(
                world,
                rules,
                horizon=task.horizon,
                num_runs=cell.num_runs,
                seed=cell.seed,
                first_run=cell.block * BLOCK_RUNS,
                starting_loss_scale=task.starting_loss_scale,
                feedback=layers,
                rounds=rounds_of(task),
                dtype="float64",
            )
    except rj.NoFormError as error:
        return str(error)
    return [whole.at(t) for t in rounds_of(task)]
