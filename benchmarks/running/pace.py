"""How far a run is: what is done, what failed and the time left."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence

from regret_envs.benchmarks.running.cells import Cell
from regret_envs.benchmarks.running.rows import Row
from regret_envs.progress import duration

logger = logging.getLogger(__name__)


class Pace:
    """How many cells are done and failed, and how long the rest will take at the pace so far.

    Args:
        cells: those that are run.
        clock: seconds that have passed.

    Attributes:
        total: the cost of all cells, see `Cell.cost`.
        cost: the cost of those that are done.
    """

    def __init__(self, cells: Sequence[Cell], clock: Callable[[], float] = time.monotonic) -> None:
        self._costs = {cell.key: cell.cost for cell in cells}
        self._clock = clock
        self._began = clock()
        self._done = self._failed = 0
        self.total = sum(self._costs.values())
        self.cost = 0.0

    def advance(self, finished: Iterable[Sequence[Row]]) -> None:
        """Count cells by their rows; each is logged at the level DEBUG."""
        for row, *_ in finished:
            self._done += 1
            self._failed += row.status == "failed"
            self.cost += self._costs[row.key]
            logger.debug("%s on %s: %s", row.agent, row.task, row.status)

    @property
    def counts(self) -> str:
        """The counts alone."""
        failed = f", {self._failed} failed" if self._failed else ""
        return f"{self._done} of {len(self._costs)} cells done{failed}"

    def __str__(self) -> str:
        if not self.cost:
            return self.counts
        left = (self._clock() - self._began) * (self.total / self.cost - 1)
        return f"{self.counts}, about {duration(left)} left"
