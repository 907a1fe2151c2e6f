"""The command line, `regret-envs`. Commands import what they need when they run."""

from __future__ import annotations

import functools
import importlib.util
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regret_envs.benchmarks.cli.check import check_command
from regret_envs.benchmarks.cli.common import (
    GAME_SOURCES,
    LEFT_OUT,
    Usage,
    allow_llm_option,
    cell_timeout_option,
    chosen_agents,
    chosen_tasks,
    executor_option,
    game_errors,
    results_option,
    run_cells,
    say,
    states_folder,
    yes_option,
)
from regret_envs.benchmarks.cli.play import tournament_command
from regret_envs.benchmarks.cli.plot import plot_command
from regret_envs.benchmarks.cli.report import report_command
from regret_envs.benchmarks.cli.results import (
    compare_command,
    export_command,
    leaderboard_command,
    merge_command,
    show_leaderboard,
    status_command,
)
from regret_envs.benchmarks.cli.selection import Selection, margin_option
from regret_envs.benchmarks.cli.train import train
from regret_envs.benchmarks.cli.validate import validate_command
from regret_envs.benchmarks.reproduce.command import reproduce

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.benchmarks.running.results import Engine
    from regret_envs.worlds import World


class _Commands(click.Group):
    """Exits with status 130 when interrupted, and prints "?" for characters that the output cannot encode."""

    def invoke(self, ctx: click.Context) -> object:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        try:
            result = super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(130)
        if ctx.meta.get(LEFT_OUT):
            ctx.exit(1)
        return result


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="regret-envs")
def main() -> None:
    """Online-learning agents against streams and games: exact regrets and equilibrium gaps."""


_KINDS = ("suites", "tasks", "agents", "environments")


@main.command("list", short_help="List suites, tasks, agents and environments.")
@click.argument("kind", type=click.Choice(_KINDS), required=False)
def list_(kind: str | None) -> None:
    """List suites, tasks, agents and environments, one line each."""
    from regret_envs.benchmarks.analysis.tables import show

    tables = {"suites": _suites, "tasks": _tasks, "agents": _agents, "environments": _environments}
    show([tables[k]() for k in ([kind] if kind else _KINDS)])


def _suites() -> Table:
    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.benchmarks.tasks.core import SUITES
    from regret_envs.plugins import plugins

    rows = [[name, str(len(suite.tasks)), suite.summary] for name, suite in SUITES.items()]
    found, problems = plugins("suites", SUITES)
    rows += [[p.name, "–", f"a plug-in of {p.distribution}"] for p in found.values()]
    return Table("Suites", ["suite", "tasks", "what it is"], rows, note="\n".join(problems))


def _tasks() -> Table:
    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.benchmarks.tasks.core import TASKS
    from regret_envs.plugins import plugins

    rows = [[task.id, str(task.horizon), task.summary] for task in TASKS.values()]
    found, problems = plugins("tasks", TASKS)
    rows += [[p.name, "–", f"a plug-in of {p.distribution}"] for p in found.values()]
    return Table("Tasks", ["task", "T", "what it is"], rows, note="\n".join(problems))


def _agents() -> Table:
    from regret_envs.agents.catalogue import NEED_SETTINGS
    from regret_envs.agents.registry import known_agents
    from regret_envs.benchmarks.analysis.tables import Table

    known, problems = known_agents()
    known |= NEED_SETTINGS
    rows = [[name, entry.summary, entry.takes, entry.bounds or "–"] for name, entry in known.items()]
    note = (
        "Feedback: any (losses or estimates of them), full (all losses) or bandit (the drawn action's). "
        "Bounds: the kind of regret that the agent's guarantee bounds."
    )
    return Table(
        "Agents", ["agent", "what it is", "feedback", "bounds"], rows, note="\n".join([note, *problems])
    )


def _environments() -> Table:
    from regret_envs import games, streams
    from regret_envs.benchmarks.analysis.tables import Table
    from regret_envs.envs import ENVIRONMENTS, PREDICTION

    worlds: dict[str, Mapping[str, Callable[..., World]]] = {
        "streams": streams.STREAMS,
        "games": games.NAMED_GAMES,
    }
    rows = [[name, entry.summary] for name, entry in (ENVIRONMENTS | PREDICTION).items()]
    rows += [
        [f"{kind}.{name}", (world.__doc__ or "").split("\n")[0].partition(":")[0].rstrip(".")]
        for kind, named in worlds.items()
        for name, world in named.items()
    ]
    return Table("Environments", ["environment", "what it is"], rows)


@main.command(short_help="Run a suite and show its leaderboard.")
@click.option("--suite", default="core", show_default=True, help="Suites or tasks, comma-separated.")
@click.option(
    "--game",
    "games",
    multiple=True,
    help=f"Instead of a suite: {GAME_SOURCES}; may be repeated.",
)
@click.option("--agents", default="all", show_default=True, help="Agent specs, or all, comma-separated.")
@click.option("--runs", type=click.IntRange(min=1), help="Runs per task.  [default: the suite's, mostly 64]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@results_option
@click.option("--tables", is_flag=True, help="Also show a table for each task.")
@margin_option
@click.option("--rerun", is_flag=True, help="Rerun cells that already have results.")
@click.option(
    "--engine",
    type=click.Choice(["numpy", "jax"]),
    default="numpy",
    show_default=True,
    help="What plays: jax compiles (extra jax), and says n/a of what it does not play.",
)
@executor_option
@cell_timeout_option
@yes_option
@allow_llm_option
@click.option(
    "--transcripts",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for the transcripts of language models.",
)
@click.pass_context
def run(
    context: click.Context,
    suite: str,
    games: tuple[str, ...],
    agents: str,
    runs: int | None,
    seed: int,
    results: Path,
    tables: bool,
    margin: float,
    rerun: bool,
    engine: Engine,
    executor: str,
    cell_timeout: float | None,
    yes: bool,
    allow_llm: bool,
    transcripts: Path | None,
) -> None:
    """Run a suite and show the scores; cells that are already in the results file are not rerun.

    An agent is a built-in name or "module:Class" from the working folder, with settings in
    brackets: --agents "hedge[step_size=0.7],blum-mansour,mypkg.mine:Mine".
    """
    from regret_envs.agents import registry
    from regret_envs.benchmarks.running import runner
    from regret_envs.benchmarks.running.planning import plan
    from regret_envs.benchmarks.running.results import complete_cells
    from regret_envs.benchmarks.tasks.game import game_tasks
    from regret_envs.benchmarks.tasks.suites import default_runs

    if engine == "jax" and importlib.util.find_spec("jax") is None:
        raise Usage('--engine jax: jax is not installed: pip install "regret-envs[jax]"')
    if games:
        suite = "files"
        with game_errors():
            tasks, notes = game_tasks(games)
    else:
        tasks, notes = chosen_tasks(suite), []
    specs, lacking = chosen_agents(agents)
    if not specs:
        raise Usage("\n".join(lacking))
    # Long cells resume where they were interrupted.
    measure = functools.partial(
        runner.measure,
        states=states_folder(results),
        allow_llm=allow_llm,
        transcripts=transcripts and transcripts.absolute(),
    )
    cells = plan(suite, tasks, specs, runs=runs or default_runs(suite), seed=seed, engine=engine)
    rows = run_cells(
        cells, results, executor, rerun=rerun, measure=measure, yes=yes, cell_timeout=cell_timeout
    )
    show_leaderboard(
        Selection(rows, [task.id for task in tasks], [registry.canonical(spec) for spec in specs]),
        notes=[*notes, *lacking],
        task_tables=tables,
        margin=margin,
    )
    keys = {cell.key for cell in cells}
    failed = [c[0] for key, c in complete_cells(rows).items() if key in keys and c[0].status == "failed"]
    if failed:
        say(f"{len(failed)} of {len(cells)} cells failed; the tracebacks are in {results}:")
        for row in failed:
            say(f"  {row.agent} on {row.task}: {row.reason}")
        context.exit(1)


for _command in (
    leaderboard_command,
    merge_command,
    status_command,
    compare_command,
    export_command,
    tournament_command,
    validate_command,
    plot_command,
    report_command,
    check_command,
):
    main.add_command(_command)
main.add_command(reproduce)
main.add_command(train)
