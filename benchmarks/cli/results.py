"""Commands that read results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from regret_envs.benchmarks.cli import complete
from regret_envs.benchmarks.cli.common import (
    LEFT_OUT,
    Usage,
    all_results_option,
    listed,
    named_tasks,
    read_rows,
    say,
    say_skipped,
)
from regret_envs.benchmarks.cli.selection import (
    Selection,
    agents_option,
    by_option,
    margin_option,
    metric_option,
    selection,
    suite_option,
    tasks_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


FORMATS = ("table", "json", "csv", "md")


@click.command("leaderboard", short_help="Show the scores, and the tables of tasks.")
@suite_option
@agents_option
@click.option(
    "--tasks",
    shell_complete=complete.tasks,
    is_flag=False,
    flag_value="all",
    help="With a table for each of these tasks, comma-separated; alone: for all of them.",
)
@metric_option
@by_option
@click.option("--columns", help="Metrics and columns of the scores, comma-separated.  [default: what fits]")
@margin_option
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@all_results_option
def leaderboard_command(
    suite: str | None,
    agents: str | None,
    tasks: str | None,
    metric: str | None,
    by: Literal["task", "score"] | None,
    columns: str | None,
    margin: float,
    format_: str,
    results: tuple[Path, ...],
) -> None:
    """Show the agents' scores over tasks and, with --tasks, each task: mean ± standard error."""
    from regret_envs.benchmarks.analysis.board_tables import SCORE_COLUMNS
    from regret_envs.metrics import METRICS
    from regret_envs.names import UnknownNameError, lookup
    from regret_envs.plugins import plugins

    named = [name.strip() for name in columns.split(",")] if columns else []
    try:
        for name in named:
            if name not in SCORE_COLUMNS and name not in plugins("metrics")[0]:
                lookup("column", name, {**METRICS, **SCORE_COLUMNS})
    except UnknownNameError as error:
        raise Usage(str(error)) from None
    found = selection(results, suite, None if tasks == "all" else tasks, agents, metric)
    whole = tasks is not None or format_ in ("json", "csv") or any(n not in SCORE_COLUMNS for n in named)
    show_leaderboard(
        found, metric=metric, format_=format_, by=by, columns=named, task_tables=whole, margin=margin
    )


def show_leaderboard(
    found: Selection,
    *,
    metric: str | None = None,
    format_: str = "table",
    notes: Sequence[str] = (),
    by: str | None = None,
    columns: Sequence[str] = (),
    task_tables: bool = False,
    margin: float,
) -> None:
    """Print the leaderboard of rows: the scores, and the tables of tasks if asked or if there is one task.

    Args:
        found: rows, tasks and agents.
        metric, margin: as in `leaderboard`.
        format_: one of `FORMATS`.
        notes: further lines below.
        by: "task" or "score" for one kind of tables alone.
        columns: as in `leaderboard_tables`.
        task_tables: whether each task has a table.
    """
    import msgspec

    from regret_envs.benchmarks.analysis import tables
    from regret_envs.benchmarks.analysis.board_tables import leaderboard_csv, leaderboard_tables
    from regret_envs.benchmarks.analysis.leaderboard import leaderboard

    iqm = format_ in ("json", "csv") or "iqm_interval" in columns
    board = leaderboard(
        found.rows, metric=metric, tasks=found.tasks, agents=found.agents, iqm_intervals=iqm, margin=margin
    )
    shown = {entry.agent for table in board.tasks for entry in table.entries}
    if set(found.agents or ()) - shown:  # the notes say why
        click.get_current_context().meta[LEFT_OUT] = True
    every_task = by == "task" or (by is None and (task_tables or len(board.tasks) == 1))
    board = msgspec.structs.replace(
        board,
        tasks=board.tasks if every_task else [],
        overall=board.overall if by != "task" else [],
        notes=[*board.notes, *notes],
    )
    if format_ == "csv":
        click.echo(leaderboard_csv(board), nl=False)
    else:
        tables.print_as(format_, board, leaderboard_tables(board, columns))


@click.command("compare", short_help="Compare two agents on common runs.")
@click.argument("first", shell_complete=complete.agents)
@click.argument("second", shell_complete=complete.agents)
@suite_option
@tasks_option
@click.option(
    "--metric", shell_complete=complete.metrics, help="The metric to compare.  [default: each task's first]"
)
@by_option
@margin_option
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@all_results_option
def compare_command(
    first: str,
    second: str,
    suite: str | None,
    tasks: str | None,
    metric: str | None,
    by: Literal["task", "score"] | None,
    margin: float,
    format_: str,
    results: tuple[Path, ...],
) -> None:
    """Compare two agents on the runs that both played, task by task and over all tasks."""
    from regret_envs.agents import registry
    from regret_envs.benchmarks.analysis import tables
    from regret_envs.benchmarks.analysis.comparison import compare, compare_table
    from regret_envs.benchmarks.analysis.task_results import task_results
    from regret_envs.names import UnknownNameError, lookup

    chosen = selection(results, suite, tasks, None, metric)
    try:
        agents = [registry.canonical(spec) for spec in (first, second)]
        for agent in agents:
            lookup("agent in the results", agent, dict.fromkeys(row.agent for row in chosen.rows))
    except (registry.SpecError, UnknownNameError) as error:
        raise Usage(str(error)) from None
    found = compare(chosen.rows, *agents, metric=metric, tasks=chosen.tasks, margin=margin)
    for line in task_results(chosen.rows, tasks=chosen.tasks, agents=agents)[1]:
        say(line)
    if not found:
        raise click.ClickException(
            f"{agents[0]} and {agents[1]} have no runs in common in {listed(results)}: "
            f'regret-envs run --agents "{agents[0]},{agents[1]}" produces some'
        )
    if by is not None:
        found = [d for d in found if (d.task == "all") == (by == "score")]
    tables.print_as(format_, found, [compare_table(found, agents[0], agents[1], margin)])


@click.command("status")
@click.option(
    "--suite",
    shell_complete=complete.suites,
    help="Suites or tasks, comma-separated.  [default: those in the file]",
)
@click.option(
    "--agents",
    shell_complete=complete.agents,
    help="Agent specs, comma-separated.  [default: those in the file]",
)
@click.option("--runs", type=click.IntRange(min=1), help="Runs per task.  [default: as in the file]")
@click.option("--seed", type=click.IntRange(min=0), help="[default: those in the file]")
@all_results_option
def status_command(
    suite: str | None, agents: str | None, runs: int | None, seed: int | None, results: tuple[Path, ...]
) -> None:
    """Show how many cells are done, failed and missing."""
    from regret_envs.agents import registry
    from regret_envs.agents.catalogue import AGENTS
    from regret_envs.benchmarks.analysis import tables
    from regret_envs.benchmarks.analysis.comparable import comparable
    from regret_envs.benchmarks.analysis.status import (
        Asked,
        State,
        asked_for,
        count_cells,
        counts_table,
        planned_states,
        states_of_rows,
    )
    from regret_envs.benchmarks.analysis.usage import usage_by_agent, usage_table
    from regret_envs.benchmarks.running.rows import complete_cells
    from regret_envs.benchmarks.tasks.core import TASKS
    from regret_envs.benchmarks.tasks.suites import built_in_tasks

    rows = read_rows(results)
    kept, notes = comparable(complete_cells(rows).values())
    cells = {cell[0].key: cell for cell in kept}
    asked = asked_for(rows, {task.id for task in TASKS.values() if task.num_runs is not None})
    ids = {a.suite: {row.task for row in rows if row.suite == a.suite} for a in asked}
    if suite is not None and asked:
        every = tuple(dict.fromkeys(agent for a in asked for agent in a.agents))
        most = max(a.runs for a in asked)
        ids = {suite: set(named_tasks(suite, rows))}
        asked = [Asked(suite, every, most, *which) for which in sorted({(a.seed, a.engine) for a in asked})]
    try:
        given = [s for name in registry.split(agents or "") for s in (AGENTS if name == "all" else [name])]
        given = [registry.canonical(spec) for spec in given]
    except registry.SpecError as error:
        if agents:
            raise Usage(str(error)) from None
        given = []
    states: dict[object, State] = {}
    for a in asked:
        if seed is None or a.seed == seed:
            a = Asked(a.suite, tuple(given) or a.agents, runs or a.runs, a.seed, a.engine)
            named = built_in_tasks(a.suite)
            try:
                # Tasks of a fixed number of runs have one seed, whatever was asked.
                states |= planned_states(a, named, cells)
            except (ImportError, ValueError) as error:
                raise Usage(str(error)) from None
            others = ids[a.suite] - {task.id for task in named}
            of_others = {key: cell for key, cell in cells.items() if seed in (None, cell[0].seed)}
            states |= states_of_rows(others, a.agents, of_others)
    if not states:
        raise click.ClickException(
            f"{listed(results)} has nothing of that, except tournaments: regret-envs tournament shows those"
        )
    by_task, by_agent = count_cells(states.values())
    shown = [counts_table("task", by_task), counts_table("agent", by_agent)]
    used = usage_by_agent(rows, tasks={task for task, *_ in states.values()})
    tables.show([*shown, usage_table(used)] if used else shown)
    for line in notes:
        say(line)


@click.command("export", short_help="Export the results as a Parquet file.")
@click.option(
    "--parquet", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The file to write."
)
@all_results_option
def export_command(parquet: Path, results: tuple[Path, ...]) -> None:
    """Write the results as a table for other programs, one row per run and value."""
    from regret_envs.benchmarks.analysis.export import export_parquet

    try:
        lines, notes = export_parquet(read_rows(results), parquet)
    except ImportError as error:
        raise click.ClickException(
            f'{error.name} is not installed: pip install "regret-envs[parquet]"'
        ) from None
    except OSError as error:
        raise click.ClickException(f"{parquet} cannot be written: {error.strerror or error}") from None
    for line in [*notes, f"{lines} lines in {parquet}"]:
        say(line)


@click.command("merge", short_help="Put results files together.")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The new results file."
)
def merge_command(files: tuple[Path, ...], out: Path) -> None:
    """Write the cells of several results files to a new one, each once, the oldest first.

    A cell that two files have must have the same results in both, unless it failed in one; else it is left
    out, and the exit status is 1.
    """
    from regret_envs.benchmarks.running.results import ResultsError, read, write
    from regret_envs.benchmarks.running.rows import complete_cells

    if out.exists():
        raise Usage(f"{out} exists: give the name of a new file")
    try:
        contents = read(*files)
        cells = complete_cells(contents.rows)
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        write(out, (row for cell in cells.values() for row in cell))
    except (ResultsError, OSError) as error:
        raise click.ClickException(str(error)) from None
    say_skipped(contents.skipped)
    say(f"{len(cells)} cells in {out}")
