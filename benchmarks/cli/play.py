"""Commands that play, besides `run`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from regret_envs.benchmarks.cli.common import (
    GAME_SOURCES,
    Usage,
    chosen_agents,
    executor_option,
    game_errors,
    results_option,
    run_cells,
    say,
    yes_option,
)
from regret_envs.benchmarks.cli.results import FORMATS
from regret_envs.benchmarks.cli.selection import margin_option


@click.command("tournament", short_help="Everyone against everyone, in both seats.")
@click.option("--game", required=True, help=f"A game of two players: {GAME_SOURCES}.")
@click.option("--agents", default="all", show_default=True, help="Agent specs, or all, comma-separated.")
@click.option("--horizon", type=click.IntRange(min=1), help="Rounds.  [default: a suite file's, else 1000]")
@click.option("--runs", type=click.IntRange(min=1), default=64, show_default=True, help="Runs per pairing.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@margin_option
@click.option("--pairings", is_flag=True, help="Also show every pairing.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@results_option
@executor_option
@yes_option
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
    yes: bool,
) -> None:
    """Everyone against everyone, in both seats: payoffs, and Nash averaging instead of a rating."""
    from regret_envs.agents import registry
    from regret_envs.benchmarks.analysis import standings, tables
    from regret_envs.benchmarks.running.planning import plan_tournament
    from regret_envs.benchmarks.running.runner import measure
    from regret_envs.benchmarks.tasks.game import tournament_task

    with game_errors():
        task, notes = tournament_task(game, horizon)
    specs, lacking = chosen_agents(agents)
    cells = plan_tournament(task, specs, runs=runs, seed=seed)
    rows = run_cells(cells, results, executor, rerun=False, measure=measure, yes=yes)
    ranked = [registry.canonical(spec) for spec in specs]
    found = standings.tournament(rows, task.id, ranked, margin=margin)
    for line in [*notes, *lacking, *found.notes]:
        say(line)
    if not found.agents:
        raise click.ClickException("no agent has played all the others")
    tables.print_as(format_, found, tables.tournament_tables(found, pairings=pairings))


@click.command("check", short_help="Check whether an agent follows the protocol.")
@click.argument("agent")
@click.pass_context
def check_command(context: click.Context, agent: str) -> None:
    """Check whether an agent follows the protocol, and say what to fix.

    AGENT is a spec, such as mypkg.mine:Mine[alpha=2].
    """
    from regret_envs.agents import registry
    from regret_envs.agents.usage import Asking
    from regret_envs.names import UnknownNameError
    from regret_envs.testing import check_agent

    sys.path.insert(0, os.getcwd())
    try:
        made = registry.make(agent)
    except (ImportError, registry.SpecError, UnknownNameError) as error:
        raise Usage(str(error)) from None
    except Exception as error:
        raise click.ClickException(f"{agent} cannot be made: {type(error).__name__}: {error}") from None
    if isinstance(made, Asking):
        raise Usage(f"{agent} asks at a price, and checks play hundreds of rounds: it is not checked")
    found = check_agent(lambda: registry.make(agent), raises=False)
    for f in found:
        click.echo(f"{f.status:7} {f.what}")
        if f.problem:
            click.echo(f"        {f.problem}\n        to fix: {f.fix}")
    failed = sum(f.status == "fails" for f in found)
    advice = sum(f.status == "advice" for f in found)
    click.echo(f"{agent}: {failed} to fix, {advice} to consider, {len(found) - failed - advice} ok")
    context.exit(1 if failed else 0)
