"""Running cells from the command line: what they ask for, progress, interrupts."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regret_envs.benchmarks.cli.common import MOST_REQUESTS, Usage, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regret_envs.benchmarks.running.cells import Cell
    from regret_envs.benchmarks.running.driver import Measure
    from regret_envs.benchmarks.running.executors import Pool
    from regret_envs.benchmarks.running.pace import Pace
    from regret_envs.benchmarks.running.rows import Row


def states_folder(results: Path) -> Path:
    """Where long cells save their states, to resume from if they are interrupted."""
    return results.absolute().with_name(f"{results.name}.states")


def announce(cells: Sequence[Cell], *, yes: bool) -> None:
    """Say what the cells will ask of language models, before the first request.

    Raises:
        Usage: if that is much and `yes` was not given.
    """
    from regret_envs.agents import registry
    from regret_envs.benchmarks.running.apart import Apart, Died
    from regret_envs.benchmarks.running.expense import expense

    custom = {spec for spec in {s for cell in cells for s in cell.seats} if registry.custom_modules(spec)}
    theirs = [cell for cell in cells if custom.intersection(cell.seats)]
    found = expense([cell for cell in cells if not custom.intersection(cell.seats)])
    requests, tokens = found.requests, found.tokens
    if theirs:
        # One that dies there takes nothing, and says so when it is run.
        with Apart() as apart, contextlib.suppress(Died):
            found = apart.call(expense, theirs)
            requests, tokens = requests + found.requests, tokens + found.tokens
    if requests:
        say(
            f"language models: {requests:,} requests and at most about {tokens:,} tokens, fewer "
            "where answers are in the cache"
        )
    if requests > MOST_REQUESTS and not yes:
        raise Usage(f"more than {MOST_REQUESTS:,} requests need --yes")


def run_cells(
    cells: Sequence[Cell],
    results: Path,
    where: str,
    *,
    rerun: bool,
    measure: Measure,
    yes: bool = True,
    cell_timeout: float | None = None,
) -> list[Row]:
    """Run the missing cells, and return all rows of the file, those of the cells last, which count."""
    if cell_timeout is not None and where.startswith("dask:"):
        raise Usage("--cell-timeout: a thread of a Dask worker cannot be ended; the other executors can")
    from regret_envs.benchmarks.running import cells as planned
    from regret_envs.benchmarks.running import driver, executors
    from regret_envs.benchmarks.running.pace import Pace, logger
    from regret_envs.benchmarks.running.results import ResultsError, Writer, read
    from regret_envs.benchmarks.running.rows import complete_cells
    from regret_envs.progress import every_minute

    context = click.get_current_context()
    try:
        writer = Writer(results)
    except (ResultsError, OSError) as error:
        raise click.ClickException(str(error)) from None
    with writer:
        if writer.contents.torn:
            say(f"{results} ended with an unfinished line, from a run that was killed: it was cut off")
        for line in writer.contents.skipped:
            say(line)
        to_run = cells if rerun else planned.missing(cells, complete_cells(writer.contents.rows))
        done = len(cells) - len(to_run)
        count = f"{len(to_run)} cell{'s' * (len(to_run) != 1)} to run"
        say(count + (f", {done} already in {results}" if done else ""))
        announce(to_run, yes=yes)
        pool: Pool | None = None
        status = 0
        try:
            if to_run:
                specs = {spec for cell in to_run for spec in cell.seats}
                pool = executors.connect(
                    where, preload=planned.shared_imports(specs), modules=planned.needed_modules(to_run)
                )
                states = states_folder(results)
                pace = Pace(to_run)
                with _Bar(pace, states) as bar, every_minute(logger, pace.__str__):
                    finished_chunks = driver.run(
                        to_run, pool, measure=measure, cell_timeout=cell_timeout, say=say
                    )
                    for finished in finished_chunks:
                        writer.append(row for cell_rows in finished for row in cell_rows)
                        pace.advance(finished)
                        bar.update()
                pool.close()
                with contextlib.suppress(OSError):
                    states.rmdir()
        except KeyboardInterrupt:
            status = 130
        except (ResultsError, executors.ExecutorError) as error:
            say(f"Error: {error}")
            status = 1
        finally:
            if pool is not None and status:
                pool.close(now=True)
        if status:
            # Counted in the file: an interrupt may fall between writing and counting.
            say(f"{writer.appended()} of {len(to_run)} saved; run again to continue")
            context.exit(status)
    return _planned_last(read(results).rows, cells)


def _planned_last(rows: Sequence[Row], cells: Sequence[Cell]) -> list[Row]:
    """The rows, those of the cells last; what was read from before rows had hashes is told by its key."""
    import msgspec

    hashes = {cell.key: {"task_hash": cell.task_hash, "data_hash": cell.data} for cell in cells}
    asked = [msgspec.structs.replace(row, **hashes[row.key]) for row in rows if row.key in hashes]
    return [*(row for row in rows if row.key not in hashes), *asked]


class _Bar:
    """A bar on standard error, if that is a terminal, that advances by the cost of the cells."""

    def __init__(self, pace: Pace, states: Path) -> None:
        from rich import progress
        from rich.console import Console
        from rich.text import Text

        from regret_envs.benchmarks.running.states import shares_played

        class Within(progress.ProgressColumn):
            """The progress of the long cells that are running."""

            max_refresh = 1.0

            def render(self, task: progress.Task) -> Text:
                shares = ", ".join(f"{share:.0%}" for share in shares_played(states))
                return Text(f"within long cells: {shares}" if shares else "")

        console = Console(stderr=True)
        self._pace = pace
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeRemainingColumn(),
            Within(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task(pace.counts, total=pace.total)

    def update(self) -> None:
        self._bar.update(self._task, completed=self._pace.cost, description=self._pace.counts)

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()
