"""Commands that read results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from regret_envs.benchmarks.cli.common import (
    Usage,
    chosen_agents,
    chosen_tasks,
    read_rows,
    results_option,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from regret_envs.benchmarks.running.results import Row

T = TypeVar("T")

FORMATS = ("table", "json", "csv", "md")


@click.command("leaderboard", short_help="Show the leaderboard of a results file.")
@click.option("--suite", help="Suites or tasks, comma-separated.  [default: all with results]")
@click.option("--metric", help="The metric that ranks the agents.  [default: each task's first]")
@click.option(
    "--by", type=click.Choice(["task", "score"]), help="Only the tables of the tasks, or only the scores."
)
@click.option("--columns", help="Metrics and score columns, comma-separated.  [default: as many as fit]")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@results_option
def leaderboard_command(
    suite: str | None, metric: str | None, by: str | None, columns: str | None, format_: str, results: Path
) -> None:
    """Show mean ± standard error per task, and the scores over all tasks."""
    from regret_envs.benchmarks.analysis.tables import SCORE_COLUMNS
    from regret_envs.benchmarks.tasks.task import METRICS
    from regret_envs.names import UnknownNameError, lookup

    tasks = [task.id for task in chosen_tasks(suite)] if suite else None
    named = [name.strip() for name in columns.split(",")] if columns else []
    try:
        if metric is not None:
            lookup("metric", metric, METRICS)
        for name in named:
            lookup("column", name, {**METRICS, **SCORE_COLUMNS})
    except UnknownNameError as error:
        raise Usage(str(error)) from None
    show_leaderboard(read_rows(results), tasks, None, metric, format_, [], by, named)


def show_leaderboard(
    rows: list[Row],
    tasks: list[str] | None,
    agents: list[str] | None,
    metric: str | None,
    format_: str,
    notes: list[str],
    by: str | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Print the leaderboard of the rows; arguments as in `leaderboard`, and what to show of it."""
    import msgspec

    from regret_envs.benchmarks.analysis import tables
    from regret_envs.benchmarks.analysis.leaderboard import leaderboard

    iqm = format_ in ("json", "csv") or any(name.startswith("iqm") for name in columns)
    board = leaderboard(rows, metric=metric, tasks=tasks, agents=agents, iqm=iqm)
    board = msgspec.structs.replace(
        board,
        tasks=board.tasks if by != "score" else [],
        overall=board.overall if by != "task" else [],
        notes=[*board.notes, *notes],
    )
    if format_ == "csv":
        click.echo(tables.leaderboard_csv(board), nl=False)
    else:
        tables.print_as(format_, board, tables.leaderboard_tables(board, columns))


@click.command("compare", short_help="Compare two agents on common runs.")
@click.argument("first")
@click.argument("second")
@click.option("--suite", help="Suites or tasks, comma-separated.  [default: all with results]")
@click.option("--metric", help="The metric to compare.  [default: each task's first]")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@results_option
def compare_command(
    first: str, second: str, suite: str | None, metric: str | None, format_: str, results: Path
) -> None:
    """Compare two agents on the runs that both played, task by task and over all tasks."""
    from regret_envs.agents import registry
    from regret_envs.benchmarks.analysis import tables
    from regret_envs.benchmarks.analysis.comparison import compare
    from regret_envs.benchmarks.tasks.task import METRICS
    from regret_envs.names import UnknownNameError, lookup

    rows = read_rows(results)
    known = dict.fromkeys(row.agent for row in rows)
    try:
        agents = [registry.canonical(spec) for spec in (first, second)]
        for agent in agents:
            lookup("agent in the results", agent, known)
        if metric is not None:
            lookup("metric", metric, METRICS)
    except (registry.SpecError, UnknownNameError) as error:
        raise Usage(str(error)) from None
    tasks = [task.id for task in chosen_tasks(suite)] if suite else None
    found = compare(rows, agents[0], agents[1], metric=metric, tasks=tasks)
    if not found:
        raise click.ClickException(
            f"{agents[0]} and {agents[1]} have no runs in common in {results}: "
            f'regret-envs run --agents "{agents[0]},{agents[1]}" produces some'
        )
    tables.print_as(format_, found, [tables.compare_table(found, agents[0], agents[1])])


def _is_here(agent: str) -> bool:
    """Whether the source of an agent is available; if not, say so."""
    from regret_envs.agents import registry

    try:
        registry.source_hash(agent)
    except (ImportError, ValueError) as error:
        say(f"the missing cells of {agent} cannot be counted: {error}")
        return False
    return True


@click.command("status")
@click.option("--suite", help="Suites or tasks, comma-separated.  [default: those in the file]")
@click.option("--agents", help="Agent specs, comma-separated.  [default: those in the file]")
@click.option("--runs", type=click.IntRange(min=1), help="Runs per task.  [default: as in the file]")
@click.option("--seed", type=click.IntRange(min=0), help="[default: those in the file]")
@results_option
def status_command(
    suite: str | None, agents: str | None, runs: int | None, seed: int | None, results: Path
) -> None:
    """Show how many cells are done, failed and missing."""
    from regret_envs.benchmarks.analysis import tables
    from regret_envs.benchmarks.analysis.status import Asked, asked_for, progress
    from regret_envs.benchmarks.analysis.usage import usage_by_agent
    from regret_envs.benchmarks.running.planning import plan
    from regret_envs.benchmarks.running.results import complete_cells
    from regret_envs.benchmarks.tasks.core import TASKS

    rows = read_rows(results)
    asked = asked_for(rows, {task.id for task in TASKS.values() if task.num_runs is not None})
    if suite is not None:
        every = tuple(dict.fromkeys(agent for a in asked for agent in a.agents))
        most = max(a.runs for a in asked)
        asked = [Asked(suite, every, most, *which) for which in sorted({(a.seed, a.engine) for a in asked})]
    given = chosen_agents(agents)[0] if agents else None
    cells = {}
    for a in asked:
        if seed is None or a.seed == seed:
            try:
                tasks = chosen_tasks(a.suite)
            except Usage as error:  # from files that are not known by name, or are gone
                say(f"the missing cells of {a.suite!r} cannot be counted: {error.message}")
                continue
            here = given or [agent for agent in a.agents if _is_here(agent)]
            planned = plan(a.suite, tasks, here, runs=runs or a.runs, seed=a.seed, engine=a.engine)
            # Tasks of a fixed number of runs have one seed, whatever was asked.
            cells.update({cell.key: cell for cell in planned})
    if not cells:
        raise click.ClickException("none of the suites in the file is known by name: give --suite")
    by_task, by_agent = progress(list(cells.values()), complete_cells(rows))
    shown = [tables.progress_table("task", by_task), tables.progress_table("agent", by_agent)]
    used = usage_by_agent(rows, tasks={cell.task.id for cell in cells.values()})
    tables.show([*shown, tables.usage_table(used)] if used else shown)


@click.command("export", short_help="Export the results as a Parquet file.")
@click.option(
    "--parquet", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The file to write."
)
@results_option
def export_command(parquet: Path, results: Path) -> None:
    """Write the results as a table for other programs, one row per run and value."""
    from regret_envs.benchmarks.analysis.export import export_parquet

    try:
        lines = export_parquet(read_rows(results), parquet)
    except ImportError as error:
        raise click.ClickException(
            f'{error.name} is not installed: pip install "regret-envs[parquet]"'
        ) from None
    except OSError as error:
        raise click.ClickException(f"{parquet} cannot be written: {error.strerror or error}") from None
    say(f"{lines} lines in {parquet}")


@click.command("report", short_help="Write a report: one HTML file.")
@click.option("--suite", help="Suites or tasks, comma-separated.  [default: all with results]")
@click.option("--title", default="regret-envs", show_default=True, help="The heading.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--transcript",
    "transcripts",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A language model's transcript to show; may be given several times.",
)
@results_option
def report_command(
    suite: str | None, title: str, out: Path, transcripts: tuple[Path, ...], results: Path
) -> None:
    """Write leaderboard, curves and tournaments to one self-contained HTML file."""
    from regret_envs.agents.llm.transcripts import TranscriptError
    from regret_envs.benchmarks.analysis.report import report
    from regret_envs.files import replacing

    rows = read_rows(results)
    tasks = [task.id for task in chosen_tasks(suite)] if suite else None
    try:
        text = with_matplotlib(lambda: report(rows, tasks=tasks, title=title, transcripts=transcripts))
    except TranscriptError as error:
        raise click.ClickException(str(error)) from None
    try:
        with replacing(out) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror}") from None
    say(f"{len(text.encode()) / 1e3:.0f} kB in {out}")


@click.command("plot", short_help="Plot curves of tasks and heat maps of tournaments.")
@click.option("--suite", help="Suites or tasks, comma-separated.  [default: all with results]")
@click.option("--metric", help="The metric to plot.  [default: each task's first]")
@click.option("--agents", help="Agent specs, comma-separated.  [default: the best]")
@click.option(
    "--format", "format_", type=click.Choice(["svg", "pdf", "png"]), default="svg", show_default=True
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="The folder to write to.",
)
@results_option
def plot_command(
    suite: str | None, metric: str | None, agents: str | None, format_: str, out: Path, results: Path
) -> None:
    """Plot the curves of every task and the heat maps of tournaments, one file each."""
    rows = read_rows(results)
    tasks = [task.id for task in chosen_tasks(suite)] if suite else None
    chosen = chosen_agents(agents)[0] if agents else None
    drawn = with_matplotlib(lambda: _draw(rows, tasks, chosen, metric, format_, out))
    if not drawn:
        raise click.ClickException("there is nothing to plot: the results lack the task, agent or metric")
    say(f"{drawn} figures in {out}")


def _draw(
    rows: list[Row],
    tasks: list[str] | None,
    agents: list[str] | None,
    metric: str | None,
    format_: str,
    out: Path,
) -> int:
    from regret_envs.benchmarks.analysis import figures
    from regret_envs.benchmarks.analysis.leaderboard import leaderboard
    from regret_envs.benchmarks.analysis.standings import tournament
    from regret_envs.benchmarks.analysis.task_results import task_results

    found = {}
    ranked = {t.task: [e.agent for e in t.entries if e.rank] for t in leaderboard(rows, metric=metric).tasks}
    for r in task_results(rows, tasks=tasks)[0]:
        named = [a for a in ranked.get(r.task, []) if agents is None or a in agents]
        looks = {a: i for i, a in enumerate(named[: figures.MOST_AGENTS])}
        if looks:
            name = metric or r.metrics[0]
            found[f"{r.task}-{name}"] = figures.curves(r, name, looks, legend=True)
    if tasks is None and metric is None:
        for task in {row.task for row in rows if row.is_pairing}:
            if (t := tournament(rows, task, agents)).agents:
                found[task] = figures.heat_map(t)
    out.mkdir(parents=True, exist_ok=True)
    for name, figure in found.items():
        figure.savefig(out / f"{name.replace('/', '-')}.{format_}", dpi=200)
    return len(found)


def with_matplotlib(make: Callable[[], T]) -> T:
    """What `make` draws, or an error that names the extra."""
    try:
        from regret_envs.benchmarks.analysis import figures

        with figures.style():
            return make()
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        message = 'matplotlib is not installed: pip install "regret-envs[plot]"'
        raise click.ClickException(message) from None
