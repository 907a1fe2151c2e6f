"""What the driver costs: `python -m regret_envs.benchmarks.speed.driver [--executor WHERE]`.

Trivial cells show the overhead of a cell: planned, sent, received, written and flushed. The core suite on
one worker and on two shows what a second one is worth. Leave the machine alone for figures that mean
something.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from regret_envs.agents.catalogue import AGENTS
from regret_envs.benchmarks.analysis.tables import Table, show
from regret_envs.benchmarks.running import driver, planning, runner
from regret_envs.benchmarks.running.cells import Cell
from regret_envs.benchmarks.running.driver import Measure
from regret_envs.benchmarks.running.executors import connect
from regret_envs.benchmarks.running.results import Writer, read
from regret_envs.benchmarks.running.rows import Row, complete_cells
from regret_envs.benchmarks.tasks.suites import find_tasks


def trivial(cell: Cell) -> list[Row]:
    """A row for nothing."""
    return [runner.cell_row(cell, status="ok", metric="swap_regret", round=1, values=(0.0,))]


def seconds(cells: Sequence[Cell], where: str, measure: Measure, results: Path) -> float:
    """How long cells take from an open pool to the last row on disk."""
    pool = connect(where)
    list(driver.run(cells[:2], pool, measure=measure))  # workers are up
    start = time.perf_counter()
    with Writer(results) as writer:
        for finished in driver.run(cells, pool, measure=measure):
            writer.append(row for cell_rows in finished for row in cell_rows)
    taken = time.perf_counter() - start
    pool.close()
    return taken


@click.command()
@click.option("--executor", default="local:2", show_default=True, help="Of the trivial cells.")
@click.option("--cells", "count", default=100_000, show_default=True, help="Trivial cells.")
@click.option("--suite", default="core", show_default=True, help="What is run on one worker and on two.")
def main(executor: str, count: int, suite: str) -> None:
    """Print the table."""
    tasks = find_tasks(suite)
    (one,) = planning.plan("speed", tasks[:1], ["uniform"], runs=1, seed=0)
    cells = [msgspec.structs.replace(one, seed=seed) for seed in range(count)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trivial.jsonl"
        taken = seconds(cells, executor, trivial, path)
        rows.append([f"{count:,} trivial cells on {executor}", f"{taken:.1f} s", "10 s"])
        size = path.stat().st_size
        start = time.perf_counter()
        complete_cells(read(path).rows)
        rows.append([f"… read again, {size / 1e6:.0f} MB", f"{time.perf_counter() - start:.1f} s", ""])
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        rows.append(["… memory of this process", f"{memory:.0f} MB", ""])
        agents = [name for name, entry in AGENTS.items() if entry.requires is None]
        planned = planning.plan("speed", tasks, agents, runs=64, seed=0)
        times = [seconds(planned, f"local:{n}", runner.measure, Path(folder) / f"{n}.jsonl") for n in (1, 2)]
        for n, t in zip((1, 2), times, strict=True):
            rows.append([f"{suite}, {len(planned)} cells, {n} worker{'s' * (n > 1)}", f"{t:.1f} s", ""])
        rows.append(["… times as fast", f"{times[0] / times[1]:.2f}", "1.7"])
    show([Table("The driver", ["what", "here", "target"], rows, numbers=2)])


if __name__ == "__main__":
    main()
