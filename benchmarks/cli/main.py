"""The command line, `regret-envs`. Commands import what they need when they run."""

from __future__ import annotations

import functools
import importlib.util
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regret_envs.benchmarks.cli import complete
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
    force_option,
    game_errors,
    plan_errors,
    results_option,
    say,
    say_tracked,
    yes_option,
)
from regret_envs.benchmarks.cli.inspect import inspect_command
from regret_envs.benchmarks.cli.list import list_command
from regret_envs.benchmarks.cli.logs import LEVELS, log_level_option, show_logs
from regret_envs.benchmarks.cli.play import tournament_command
from regret_envs.benchmarks.cli.plot import plot_command
from regret_envs.benchmarks.cli.report import report_command
from regret_envs.benchmarks.cli.reproduce import reproduce
from regret_envs.benchmarks.cli.results import (
    compare_command,
    export_command,
    leaderboard_command,
    merge_command,
    show_leaderboard,
    status_command,
)
from regret_envs.benchmarks.cli.running import run_cells, states_folder
from regret_envs.benchmarks.cli.selection import Selection, margin_option
from regret_envs.benchmarks.cli.train import train
from regret_envs.benchmarks.cli.validate import validate_command

if TYPE_CHECKING:
    from regret_envs.benchmarks.running.rows import Engine


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
@click.option("--log-level", type=click.Choice(LEVELS), help="As in the commands that take long.")
@click.pass_context
def main(context: click.Context, log_level: str | None) -> None:
    """Online-learning agents against streams and games: exact regrets and equilibrium gaps."""
    show_logs(context, log_level)


@main.command(short_help="Run a suite and show its leaderboard.")
@click.option(
    "--suite",
    shell_complete=complete.suites,
    default="core",
    show_default=True,
    help="Suites or tasks, comma-separated.",
)
@click.option(
    "--game",
    "games",
    shell_complete=complete.games,
    multiple=True,
    help=f"Instead of a suite: {GAME_SOURCES}; may be repeated.",
)
@click.option(
    "--agents",
    shell_complete=complete.agents,
    default="all",
    show_default=True,
    help="Agent specs, or all, comma-separated.",
)
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
@log_level_option
@cell_timeout_option
@yes_option
@allow_llm_option
@force_option
@click.option(
    "--save-states",
    is_flag=True,
    help="Save long cells beside the results and resume them from there: pickles, which run code when read.",
)
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
    save_states: bool,
    force: bool,
) -> None:
    """Run a suite and show the scores; cells that are already in the results file are not rerun.

    An agent is a built-in name or "module:Class" from the working folder, with settings in
    brackets: --agents "hedge[step_size=0.7],blum-mansour,mypkg.mine:Mine".
    """
    from regret_envs.agents import registry
    from regret_envs.benchmarks.running import runner
    from regret_envs.benchmarks.running.planning import plan
    from regret_envs.benchmarks.running.rows import complete_cells
    from regret_envs.benchmarks.tasks.game import game_tasks
    from regret_envs.benchmarks.tasks.suites import default_runs

    if engine == "jax" and importlib.util.find_spec("jax") is None:
        raise Usage('--engine jax: jax is not installed: pip install "regret-envs[jax]"')
    if games:
        suite = "files"
        with game_errors():
            tasks, notes = game_tasks(games, force=force)
    else:
        tasks, notes = chosen_tasks(suite, force=force), []
    specs, lacking, inputs = chosen_agents(agents)
    if not specs:
        raise Usage("\n".join(lacking))
    measure = functools.partial(
        runner.measure,
        states=states_folder(results),
        resume=save_states,
        allow_llm=allow_llm,
        transcripts=transcripts and transcripts.absolute(),
    )
    with plan_errors():
        count = runs or default_runs(suite)
        cells = plan(suite, tasks, specs, runs=count, seed=seed, engine=engine, force=force, inputs=inputs)
    say_tracked(inputs)
    rows = run_cells(
        cells, results, executor, rerun=rerun, measure=measure, yes=yes, cell_timeout=cell_timeout
    )
    ids, agents_ = [task.id for task in tasks], [registry.canonical(spec) for spec in specs]
    show_leaderboard(
        Selection(rows, ids, agents_).in_rows(),
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
    list_command,
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
    inspect_command,
):
    main.add_command(_command)
main.add_command(reproduce)
main.add_command(train)
