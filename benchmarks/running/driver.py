"""The driver: it hands cells to a pool in chunks, and survives the death of workers.

Only the driver writes results. Cells go out in chunks worth a fraction of a second, a bounded number at
a time, so that a million of them need no more memory than a few and a worker that dies loses little.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait

from regret_envs.benchmarks.running.cells import BLOCK_RUNS, Cell
from regret_envs.benchmarks.running.executors import ExecutorError, Pool
from regret_envs.benchmarks.running.rows import Row
from regret_envs.benchmarks.running.runner import failed_row, measure
from regret_envs.benchmarks.running.watching import CellTimeout, overdue, surroundings_kept, watched
from regret_envs.forks import forks_end

CHUNK_SECONDS = 0.2
CHUNK_CELLS = 500
END_SECONDS = 30
LOOK_SECONDS = 1.0
SAY_SECONDS = 600
GRACE_SECONDS = 10
"""How long beyond its time limit a cell may take to end by itself."""
ATTEMPTS = 3
"""How often a cell is tried when its worker dies, the last time alone."""
_logger = logging.getLogger(__name__)

Measure = Callable[[Cell], list[Row]]


def run(
    cells: Sequence[Cell],
    pool: Pool,
    *,
    measure: Measure = measure,
    cell_timeout: float | None = None,
    say: Callable[[str], None] = _logger.warning,
) -> Iterator[list[list[Row]]]:
    """Yield the rows of every cell, as chunks of cells finish.

    A pool that breaks because a worker was killed is restarted, and the cells that were running are submitted
    again, one by one; cells that were running in two crashes are run alone, one after the other, at the end.
    A cell that kills its worker each time gets a "failed" row that says so.

    Args:
        cells: the cells, in the order in which they are submitted.
        pool: the workers.
        measure: the function that turns a cell into rows (picklable).
        cell_timeout: seconds that a cell may run; one that runs longer gets a "failed" row that says so.
        say: is given a line about every cell that has run for 10 minutes, 20, 40 and so on.

    Raises:
        ExecutorError: if the workers cannot be used; says what to do.
    """
    queue = _Queue(cells)
    watch = _Watch(cells, pool, cell_timeout, say)
    out: dict[Future[Finished], list[Cell]] = {}
    while queue or out:
        # Twice as many chunks as workers, so that none waits for the driver.
        while len(out) < 2 * pool.num_workers and (chunk := queue.take(pool.num_workers, idle=not out)):
            try:
                out[pool.submit(measure_chunk, chunk, measure, cell_timeout)] = chunk
            except BrokenExecutor:
                queue.give_back(chunk)
                break
        done = wait(out, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED).done
        watch.look()
        if out and not done:
            continue
        if any(map(_broke, done)):
            # All futures end now, either before the pool broke or with it. What does not end is lost too.
            wait(out, timeout=END_SECONDS)
            done = set(out)
        lost: list[list[Cell]] = []
        given_up: list[list[Row]] = []
        broken: Exception | None = None
        for future in done:
            chunk = out.pop(future)
            try:
                finished = future.result(timeout=0)
            except (BrokenExecutor, CancelledError, TimeoutError) as error:
                lost.append(chunk)
                broken = error
            except Exception as error:
                pool.explain(error)
                given_up += queue.lost([chunk], error, certain=True)
            else:
                queue.learn(chunk, finished.seconds)
                yield finished.rows
        if broken is not None or not done:
            _restart(pool)
            if ended := watch.ended(lost):
                given_up += ended
                for chunk in lost:
                    queue.give_back(chunk)
            else:
                given_up += queue.lost(lost, broken, certain=sum(map(len, lost)) == 1)
        if given_up:
            yield given_up


def _broke(future: Future[Finished]) -> bool:
    """Whether the workers were gone before it ended; a cluster that is lost cancels its futures."""
    return future.cancelled() or isinstance(future.exception(), BrokenExecutor)


class Finished:
    """A worker's answer to a chunk: the rows of every cell, and how long it took."""

    def __init__(self, rows: list[list[Row]], seconds: float) -> None:
        self.rows = rows
        self.seconds = seconds


def measure_chunk(cells: Sequence[Cell], measure: Measure, cell_timeout: float | None = None) -> Finished:
    """Measure the cells one by one; an error in one does not affect the others."""
    start = time.perf_counter()
    return Finished([_measured(cell, measure, cell_timeout) for cell in cells], time.perf_counter() - start)


def _measured(cell: Cell, measure: Measure, cell_timeout: float | None) -> list[Row]:
    try:
        with watched(cell.key, cell_timeout), surroundings_kept(), forks_end():
            return measure(cell)
    except BaseException as error:  # SystemExit, or a KeyboardInterrupt that an agent raises, too
        if isinstance(error, KeyboardInterrupt) and multiprocessing.parent_process() is None:
            raise  # the user's: workers of this machine ignore it
        return [failed_row(cell, "".join(traceback.format_exception(error)))]


class _Watch:
    """Says which cells run for long, and ends those that run for too long."""

    def __init__(
        self, cells: Sequence[Cell], pool: Pool, limit: float | None, say: Callable[[str], None]
    ) -> None:
        self._cells = {cell.key: cell for cell in cells}
        self._pool = pool
        self._limit = limit
        self._say = say
        self._next: dict[str, float] = {}
        self._ended: set[str] = set()
        self._looked = time.monotonic()

    def look(self) -> None:
        """Look at what runs, at most every `LOOK_SECONDS`."""
        if time.monotonic() - self._looked < LOOK_SECONDS / 2:
            return
        self._looked = time.monotonic()
        for key, seconds in self._pool.running().items():
            due = self._next.get(key, SAY_SECONDS)
            if seconds >= due:
                self._say(f"cell {_name(self._cells[key])} has run for {seconds / 60:.0f} min")
                self._next[key] = 2 * due
            if self._limit is not None and seconds > self._limit + GRACE_SECONDS:
                self._pool.kill(key)
                self._ended.add(key)

    def ended(self, lost: list[list[Cell]]) -> list[list[Row]]:
        """The rows of the cells that were ended, which are taken out of the chunks that were lost."""
        rows = []
        for chunk in lost:
            for cell in [cell for cell in chunk if cell.key in self._ended]:
                chunk.remove(cell)
                rows.append([failed_row(cell, f"{CellTimeout.__name__}: {overdue(self._limit or 0)}")])
        return rows


def _name(cell: Cell) -> str:
    first = cell.block * BLOCK_RUNS
    return f"{' against '.join(cell.seats)} on {cell.task.id}, runs {first} to {first + cell.num_runs - 1},"


def _restart(pool: Pool) -> None:
    """Restart the workers and check that they live.

    Raises:
        ExecutorError: if they die before they are given any work.
    """
    pool.restart()
    try:
        pool.submit(os.getpid).result()
    except BrokenExecutor as error:
        raise ExecutorError(
            f"worker processes die as soon as they start, perhaps for lack of memory: {error}"
        ) from error


class _Queue:
    """Waiting cells, handed out in chunks of about equal duration, and how often each killed a worker."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._waiting = deque(cells)
        self._again: deque[Cell] = deque()
        self._alone: deque[Cell] = deque()
        self._deaths: Counter[str] = Counter()
        self._seconds_per_cost: float | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting or self._again or self._alone)

    def take(self, num_workers: int, *, idle: bool) -> list[Cell]:
        """The next chunk; a suspect cell only when the workers are idle and nothing else waits."""
        if self._again:
            return [self._again.popleft()]
        if not self._waiting:
            return [self._alone.popleft()] if idle and self._alone else []
        chunk = [self._waiting.popleft()]
        if self._seconds_per_cost is not None:
            # Few enough that no worker is idle at the end.
            most = min(CHUNK_CELLS, math.ceil(len(self._waiting) / (2 * num_workers)))
            cost = CHUNK_SECONDS / self._seconds_per_cost - chunk[0].cost
            while len(chunk) < most and self._waiting and self._waiting[0].cost <= cost:
                cost -= self._waiting[0].cost
                chunk.append(self._waiting.popleft())
        return chunk

    def give_back(self, chunk: Sequence[Cell]) -> None:
        """Put a chunk that was not submitted back at the front."""
        self._waiting.extendleft(reversed(chunk))

    def learn(self, chunk: Sequence[Cell], seconds: float) -> None:
        """Adjust the size of the next chunks."""
        new = seconds / sum(cell.cost for cell in chunk)
        old = self._seconds_per_cost
        self._seconds_per_cost = max(new if old is None else (old + new) / 2, 1e-12)

    def lost(
        self, chunks: Sequence[Sequence[Cell]], error: Exception | None, *, certain: bool
    ) -> list[list[Row]]:
        """Queue again what was running when workers died, and return the rows of cells that are given up.

        Args:
            chunks: the chunks that were running.
            error: the executor's error.
            certain: whether a chunk of one cell was lost because of that cell.
        """
        given_up = []
        for chunk in chunks:
            for cell in chunk:
                self._deaths[cell.key] += 1
                deaths = self._deaths[cell.key]
                if deaths >= ATTEMPTS and certain and len(chunk) == 1:
                    given_up.append(
                        [failed_row(cell, _KILLED.format(deaths, cell.agent, cell.task.id, error))]
                    )
                else:
                    (self._again if deaths == 1 else self._alone).append(cell)
        return given_up


_KILLED = (
    "the worker process died each of the {} times that this cell was run ({} on {}), the last time alone: "
    "it ran out of memory, was killed, left by os._exit, or crashed in native code. The executor says: {}"
)
