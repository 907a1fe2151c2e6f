"""Commands that play, besides `run`."""

from __future__ import annotations

from pathlib import Path

import click

from regret_envs.benchmarks.cli import complete
from regret_envs.benchmarks.cli.common import (
    GAME_SOURCES,
    cell_timeout_option,
    chosen_agents,
    executor_option,
    force_option,
    game_errors,
    plan_errors,
    results_option,
    say,
    yes_option,
)
from regret_envs.benchmarks.cli.logs import log_level_option
from regret_envs.benchmarks.cli.results import FORMATS
from regret_envs.benchmarks.cli.running import run_cells
from regret_envs.benchmarks.cli.selection import margin_option


@click.command("tournament", short_help="Everyone against everyone, in both seats.")
@click.option(
    "--game", shell_complete=complete.games, required=True, help=f"A game of two players: {GAME_SOURCES}."
)
@click.option(
    "--agents",
    shell_complete=complete.agents,
    default="all",
    show_default=True,
    help="Agent specs, or all, comma-separated.",
)
@click.option("--horizon", type=click.IntRange(min=1), help="Rounds.  [default: a suite file's, else 1000]")
@click.option("--runs", type=click.IntRange(min=1), default=64, show_default=True, help="Runs per pairing.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@margin_option
@click.option("--pairings", is_flag=True, help="Also show every pairing.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@results_option
@executor_option
@log_level_option
@cell_timeout_option
@yes_option
@force_option
def tournament_command(
    game: str,
    agents: str,
    horizon: int | None,
    runs: int,
    seed: int,
    margin: float,
    pairings: bool,
    format_: str,
    results: Path,
    executor: str,
    cell_timeout: float | None,
    yes: bool,
    force: bool,
) -> None:
    """Everyone against everyone, in both seats: payoffs, and Nash averaging instead of a rating."""
    from regret_envs.agents import registry
    from regret_envs.benchmarks.analysis import standings, tables
    from regret_envs.benchmarks.analysis.standings import tournament_tables
    from regret_envs.benchmarks.running.planning import plan_tournament
    from regret_envs.benchmarks.running.runner import measure
    from regret_envs.benchmarks.tasks.game import tournament_task

    with game_errors():
        task, notes = tournament_task(game, horizon, force=force)
    specs, lacking, inputs = chosen_agents(agents)
    with plan_errors():
        cells = plan_tournament(task, specs, runs=runs, seed=seed, force=force, inputs=inputs)
    rows = run_cells(
        cells, results, executor, rerun=False, measure=measure, yes=yes, cell_timeout=cell_timeout
    )
    ranked = [registry.canonical(spec) for spec in specs]
    found = standings.tournament(rows, task.id, ranked, margin=margin)
    for line in [*notes, *lacking, *found.notes]:
        say(line)
    if not found.agents:
        raise click.ClickException("no agent has played all the others")
    tables.print_as(format_, found, tournament_tables(found, pairings=pairings))
