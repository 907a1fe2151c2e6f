"""The command line, `regret-envs`. What a command needs is imported when it runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regret_envs.benchmarks.reproduce.command import reproduce
from regret_envs.benchmarks.train_command import train

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from regret_envs.benchmarks.results import Row
    from regret_envs.benchmarks.runner import Cell
    from regret_envs.benchmarks.tables import Table
    from regret_envs.benchmarks.task import Task
    from regret_envs.worlds import World

_RESULTS = Path("regret-envs-results.jsonl")
_results = click.option(
    "--results",
    type=click.Path(dir_okay=False, path_type=Path),
    default=_RESULTS,
    show_default=True,
    help="The results file, JSON lines.",
)


class _Usage(click.UsageError):
    """Exit status 2, without the usage line."""

    def show(self, file: object = None) -> None:
        click.echo(f"Error: {self.message}", err=True)


_executor = click.option(
    "--executor",
    default="local",
    help="local:N processes, dask://HOST:PORT, ray:N or ray://HOST:PORT.  [default: all cores]",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="regret-envs")
def main() -> None:
    """Online-learning agents against streams and games: exact regrets and equilibrium gaps."""


_KINDS = ("suites", "tasks", "agents", "environments")


@main.command("list")
@click.argument("kind", type=click.Choice(_KINDS), required=False)
def list_(kind: str | None) -> None:
    """Suites, tasks, agents and environments, each with a line."""
    from regret_envs.benchmarks.tables import show

    tables = {"suites": _suites, "tasks": _tasks, "agents": _agents, "environments": _environments}
    show([tables[k]() for k in ([kind] if kind else _KINDS)])


def _suites() -> Table:
    from regret_envs.benchmarks.tables import Table
    from regret_envs.benchmarks.tasks import SUITES

    rows = [[name, str(len(suite.tasks)), suite.summary] for name, suite in SUITES.items()]
    return Table("Suites", ["suite", "tasks", "what it is"], rows)


def _tasks() -> Table:
    from regret_envs.benchmarks.tables import Table
    from regret_envs.benchmarks.tasks import TASKS

    rows = [[task.id, str(task.horizon), task.summary] for task in TASKS.values()]
    return Table("Tasks", ["task", "T", "what it is"], rows)


def _agents() -> Table:
    from regret_envs.agents.registry import AGENTS
    from regret_envs.benchmarks.tables import Table

    return Table("Agents", ["agent", "what it is"], [[name, entry.summary] for name, entry in AGENTS.items()])


def _environments() -> Table:
    from regret_envs import games, streams
    from regret_envs.benchmarks.tables import Table

    worlds: dict[str, Mapping[str, Callable[..., World]]] = {
        "streams": streams.STREAMS,
        "games": games.NAMED_GAMES,
    }
    rows = [
        [f"{kind}.{name}", (world.__doc__ or "").split("\n")[0].partition(":")[0].rstrip(".")]
        for kind, named in worlds.items()
        for name, world in named.items()
    ]
    return Table("Environments", ["environment", "what it is"], rows)


@main.command()
@click.option("--suite", default="core", show_default=True, help="Suites or tasks, comma-separated.")
@click.option("--agents", default="all", show_default=True, help="Agent specs, comma-separated.")
@click.option("--runs", type=click.IntRange(min=1), default=64, show_default=True, help="Runs a task.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@_results
@click.option("--rerun", is_flag=True, help="Also run what is there already.")
@_executor
@click.pass_context
def run(
    context: click.Context,
    suite: str,
    agents: str,
    runs: int,
    seed: int,
    results: Path,
    rerun: bool,
    executor: str,
) -> None:
    """Run a suite and show its leaderboard; what is in the results file already is not run again.

    An agent is a built-in name or "module:Class" from the working folder, with settings in
    brackets: --agents "hedge[step_size=0.7],blum-mansour,mypkg.mine:Mine".
    """
    from regret_envs.benchmarks import runner
    from regret_envs.benchmarks.results import complete_cells

    sys.path.insert(0, os.getcwd())
    tasks = _chosen_tasks(suite)
    specs, lacking = _chosen_agents(agents)
    cells = runner.plan(suite, tasks, specs, runs=runs, seed=seed)
    rows = _run_cells(cells, results, executor, rerun=rerun)
    _show_leaderboard(rows, [task.id for task in tasks], specs, None, "table", lacking)
    keys = {cell.key for cell in cells}
    failed = [c[0] for key, c in complete_cells(rows).items() if key in keys and c[0].status == "failed"]
    if failed:
        _say(f"{len(failed)} of {len(cells)} cells failed; their tracebacks are in {results}:")
        for row in failed:
            _say(f"  {row.agent} on {row.task}: {_reason(row)}")
        context.exit(1)


def _run_cells(cells: Sequence[Cell], results: Path, where: str, *, rerun: bool) -> list[Row]:
    """Run what is missing; all rows of the file then."""
    from regret_envs.benchmarks import driver, executors, runner
    from regret_envs.benchmarks.results import ResultsError, Writer, complete_cells, read

    context = click.get_current_context()
    try:
        writer = Writer(results)
    except (ResultsError, OSError) as error:
        raise click.ClickException(str(error)) from None
    with writer:
        if writer.contents.torn:
            _say(f"{results} ended in an unfinished line, from a run that was killed: it was cut off")
        to_run = cells if rerun else runner.missing(cells, complete_cells(writer.contents.rows))
        done = len(cells) - len(to_run)
        _say(f"{len(to_run)} cells to run" + (f", {done} are in {results} already" if done else ""))
        before = len(writer.contents.rows)
        pool: executors.Pool | None = None
        status = 0
        try:
            if to_run:
                pool = executors.connect(where, preload=runner.shared_imports(to_run))
                with _Progress(to_run) as progress:
                    for finished in driver.run(to_run, pool):
                        writer.append(row for cell_rows in finished for row in cell_rows)
                        progress.advance([cell_rows[0].key for cell_rows in finished])
                pool.close()
        except KeyboardInterrupt:
            status = 130
        except (ResultsError, executors.ExecutorError) as error:
            _say(f"Error: {error}")
            status = 1
        finally:
            if pool is not None and status:
                pool.close(now=True)
        if status:
            # Counted in the file: an interrupt may come between writing and counting.
            saved = len(complete_cells(read(results).rows[before:]))
            _say(f"{saved} of {len(to_run)} saved; run again to go on")
            context.exit(status)
    return read(results).rows


_FORMATS = ("table", "json", "csv", "md")


@main.command()
@click.option("--suite", help="Suites or tasks, comma-separated.  [default: all that has results]")
@click.option("--metric", help="What ranks the agents.  [default: each task's first]")
@click.option("--by", type=click.Choice(["task", "score"]), help="Tables a task alone, or scores alone.")
@click.option("--columns", help="Metrics and columns of the scores, comma-separated.  [default: what fits]")
@click.option("--format", "format_", type=click.Choice(_FORMATS), default="table", show_default=True)
@_results
def leaderboard(
    suite: str | None, metric: str | None, by: str | None, columns: str | None, format_: str, results: Path
) -> None:
    """Show what the results come to: mean ± standard error a task, and the scores over all."""
    from regret_envs.benchmarks.tables import SCORE_COLUMNS
    from regret_envs.benchmarks.task import METRICS
    from regret_envs.registry import UnknownNameError, lookup

    tasks = [task.id for task in _chosen_tasks(suite)] if suite else None
    named = [name.strip() for name in columns.split(",")] if columns else []
    try:
        if metric is not None:
            lookup("metric", metric, METRICS)
        for name in named:
            lookup("column", name, {**METRICS, **SCORE_COLUMNS})
    except UnknownNameError as error:
        raise _Usage(str(error)) from None
    _show_leaderboard(_read(results), tasks, None, metric, format_, [], by, named)


def _read(results: Path) -> list[Row]:
    """The rows of a file that has some."""
    from regret_envs.benchmarks.results import ResultsError, read

    try:
        contents = read(results)
    except (ResultsError, OSError) as error:
        raise click.ClickException(str(error)) from None
    if contents.torn:
        _say(f"{results} ends in an unfinished line, from a run that was killed: it is left out")
    if not contents.rows:
        raise click.ClickException(f"there are no results in {results}: regret-envs run makes some")
    return contents.rows


def _chosen_tasks(names: str) -> list[Task]:
    from regret_envs.benchmarks.tasks import SUITES, TASKS
    from regret_envs.registry import UnknownNameError, lookup

    known = {**{id: (id,) for id in TASKS}, **{name: suite.tasks for name, suite in SUITES.items()}}
    try:
        chosen = [id for name in names.split(",") for id in lookup("suite or task", name.strip(), known)]
    except UnknownNameError as error:
        raise _Usage(str(error)) from None
    return [TASKS[id] for id in dict.fromkeys(chosen)]


def _chosen_agents(specs: str) -> tuple[list[str], list[str]]:
    """The canonical specs that can be made, and a line about each that lacks an extra."""
    from regret_envs.agents import registry
    from regret_envs.registry import UnknownNameError

    chosen, lacking = [], []
    try:
        for spec in list(registry.AGENTS) if specs.strip() == "all" else registry.split(specs):
            try:
                registry.make(spec)
            except registry.MissingExtraError as error:
                lacking.append(f"{spec} is left out: {error}")
                continue
            except (registry.AgentImportError, registry.SpecError, UnknownNameError):
                raise
            except Exception:
                pass  # recorded, with its traceback, where the agent is run
            chosen.append(registry.canonical(spec))
    except (registry.AgentImportError, registry.SpecError, UnknownNameError) as error:
        raise _Usage(str(error)) from None
    return chosen, lacking


def _show_leaderboard(
    rows: list[Row],
    tasks: list[str] | None,
    agents: list[str] | None,
    metric: str | None,
    format_: str,
    notes: list[str],
    by: str | None = None,
    columns: Sequence[str] = (),
) -> None:
    import msgspec

    from regret_envs.benchmarks import tables
    from regret_envs.benchmarks.leaderboard import leaderboard

    iqm = format_ in ("json", "csv") or any(name.startswith("iqm") for name in columns)
    board = leaderboard(rows, metric=metric, tasks=tasks, agents=agents, iqm=iqm)
    board = msgspec.structs.replace(
        board,
        tasks=board.tasks if by != "score" else [],
        overall=board.overall if by != "task" else [],
        notes=[*board.notes, *notes],
    )
    if format_ == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(board), indent=2).decode())
    elif format_ == "csv":
        click.echo(tables.leaderboard_csv(board), nl=False)
    elif format_ == "md":
        click.echo(tables.markdown(tables.leaderboard_tables(board, columns)), nl=False)
    else:
        tables.show(tables.leaderboard_tables(board, columns))


def _reason(row: Row) -> str:
    """The error of a traceback without what leads to it and without its notes."""
    lines = (row.message or "").rstrip().split("\n")
    return next((line for line in reversed(lines) if ": " in line and not line.startswith(" ")), lines[-1])


def _say(line: str) -> None:
    click.echo(line, err=True)


class _Progress:
    """A bar on standard error, where that is a terminal, that moves by the cells' cost."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        from rich import progress
        from rich.console import Console

        console = Console(stderr=True)
        self._cost = {cell.key: cell.cost for cell in cells}
        self._done = 0
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal or not cells,
            transient=True,
        )
        self._task = self._bar.add_task(self._text, total=sum(self._cost.values()))

    @property
    def _text(self) -> str:
        return f"{self._done} of {len(self._cost)} cells"

    def advance(self, keys: Sequence[str]) -> None:
        self._done += len(keys)
        cost = sum(self._cost[key] for key in keys)
        self._bar.update(self._task, advance=cost, description=self._text)

    def __enter__(self) -> _Progress:
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()


main.add_command(reproduce)
main.add_command(train)
