"""Rows: what a measured value is of, and the cells that rows make up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Literal, NoReturn

import msgspec

from regret_envs.agents.usage import Usage
from regret_envs.metrics.catalog import METRICS, Metric, Normalize

ROW_SCHEMA = 2
LONGEST_TEXT, LONGEST_ID = 10_000, 200
MOST_ROUNDS = 2**53

Status = Literal["ok", "failed", "n/a"]
Engine = Literal["numpy", "jax"]


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One metric at one round in all runs of a cell, or the reason why there is none.

    Attributes:
        key: the cell's key: equal keys mean the same computation.
        identity: the same without the seed and the runs: what was measured.
        part, parts: the row's number within the cell and the number of rows of the cell.
        status: "ok"; "failed": the agent raised or misplayed, and is tried again next time; "n/a": the
            agent does not play such problems.
        suite: the suite for which the cell was run.
        task, task_version: the task.
        agent: the agent's spec, with its settings.
        seats: the spec of the agent in every seat; none: the agent fills all seats.
        seat: the agent's seat among opponents; None: every seat is ranked.
        player: in a pairing, the seat that the values are of; None: of the joint play.
        opponent: what files of earlier versions have in place of `seats`; `read` replaces it.
        source: the hash of a custom agent's source.
        seed, block, num_runs: the seed, the number of the seed block, and its runs.
        num_actions: d, the largest over players.
        loss_scale: the range of the task's losses, or the standard deviation of unbounded ones.
        engine: what played it, "numpy" or "jax".
        metric, round, values: the metric, the round after which it was measured, and its value in every run.
        unit, higher_is_better, normalize: as in `Metric`; None: as in the built-in metric of that name.
        message: the traceback of a failure, or the reason for an "n/a".
        usage: in a cell's first row, the specs of the agents that ask somebody else, and what each has used.
        code_version: the version of regret-envs.
        schema: the version of the rows' format: 1, before rows had it; 2, with the three that follow.
        task_hash: the hash of everything that the task says, its opponents' sources among it, and of the
            engine, not of the ranked agent. None: of an earlier version, the data cannot be verified.
        data_hash: the fingerprint of the recorded data that was played, or of a custom world's source; None
            where there is neither.
        date: the day on which it was measured, UTC.
    """

    key: str
    identity: str
    part: int
    parts: int
    status: Status
    suite: str
    task: str
    task_version: int
    agent: str
    seats: tuple[str, ...] = ()
    seat: int | None = None
    player: int | None = None
    opponent: str | None = None
    source: str | None = None
    seed: int
    block: int
    num_runs: int
    num_actions: int
    loss_scale: float
    engine: Engine = "numpy"
    metric: str | None = None
    unit: str | None = None
    higher_is_better: bool | None = None
    normalize: Normalize | None = None
    round: int | None = None
    values: tuple[float, ...] = ()
    message: str | None = None
    usage: tuple[tuple[str, Usage], ...] = ()
    code_version: str
    schema: int = 1
    task_hash: str | None = None
    data_hash: str | None = None
    date: str | None = None

    @property
    def measured_on(self) -> tuple[int, str | None, str | None]:
        """What was played: only results with the same are compared, whoever the agents are."""
        return self.task_version, self.task_hash, self.data_hash

    @property
    def is_pairing(self) -> bool:
        """Whether it is of a tournament's pairing, in which each seat has results of its own."""
        return len(self.seats) > 1 and self.seat is None

    @property
    def reason(self) -> str:
        """The message; of a traceback only the error itself, without its notes."""
        lines = (self.message or "").rstrip().split("\n")
        return next((x for x in reversed(lines) if ": " in x and not x.startswith(" ")), lines[-1])


def fault(row: Row) -> str | None:
    """What is wrong with a row's values, its types being right: "field: what"; None if nothing is.

    A row may come from anywhere, and what reads it takes counts for counts and names for names.
    """
    for name in ("key", "identity", "task", "agent", "code_version"):
        if not _is_text(getattr(row, name)):
            return f"{name}: {_shown(getattr(row, name))} is not a name"
    if len(row.task) > LONGEST_ID:
        return f"task: {_shown(row.task)} is longer than {LONGEST_ID} characters"
    if row.schema > ROW_SCHEMA:
        return f"schema: {row.schema} is of a newer version of regret-envs: upgrade"
    seats = len(row.seats) or (2 if row.opponent is not None else 0)
    counts: dict[str, tuple[int | None, int, int]] = {
        "parts": (row.parts, 1, MOST_ROUNDS),
        "part": (row.part, 0, row.parts - 1),
        "task_version": (row.task_version, 0, MOST_ROUNDS),
        "seed": (row.seed, 0, 2**128),
        "block": (row.block, 0, MOST_ROUNDS),
        "num_runs": (row.num_runs, 1, MOST_ROUNDS),
        "num_actions": (row.num_actions, 1, MOST_ROUNDS),
        "round": (row.round, 1, MOST_ROUNDS),
        "seat": (row.seat, 0, seats - 1),
        "player": (row.player, 0, seats - 1),
        "schema": (row.schema, 1, ROW_SCHEMA),
    }
    for name, (value, low, high) in counts.items():
        if value is not None and not low <= value <= high:
            return f"{name}: {value} is not within {low} … {high}"
    if not (math.isfinite(row.loss_scale) and row.loss_scale > 0):
        return f"loss_scale: {row.loss_scale} is not finite and positive"
    if not all(map(_is_text, row.seats)):
        return "seats: an agent has no name"
    if row.date is not None and not _is_date(row.date):
        return f"date: {_shown(row.date)} is not a day"
    return _fault_of_measured(row) if row.status == "ok" else _fault_of_reason(row)


def _fault_of_measured(row: Row) -> str | None:
    if row.metric is None:
        return "metric: missing"
    if not _is_text(row.metric) or (row.metric not in METRICS and row.higher_is_better is None):
        return f"metric: {_shown(row.metric)} is not built in, and the row does not say its direction"
    if row.round is None:
        return "round: missing"
    if len(row.values) != row.num_runs:
        return f"values: {len(row.values)} for {row.num_runs} runs"
    if not all(map(math.isfinite, row.values)):
        return "values: not all are finite"
    return None


def _fault_of_reason(row: Row) -> str | None:
    if not row.message:
        return f"message: missing, and the cell is {row.status}"
    if row.metric is not None or row.values:
        return f"values: the cell is {row.status} and has some"
    return None


def _is_text(value: str) -> bool:
    # Nothing of it may act on a terminal.
    return bool(value.strip()) and value.isprintable() and len(value) <= LONGEST_TEXT


def _shown(value: str) -> str:
    return repr(value if len(value) < 50 else f"{value[:50]}…")


def _is_date(value: str) -> bool:
    try:
        return bool(date.fromisoformat(value))
    except ValueError:
        return False


def metric_of(row: Row) -> Metric:
    """What the row says of its metric: direction, unit and normalization, without importing a plug-in.

    Raises:
        ValueError: if the row has no metric.
    """
    if row.metric is None:
        raise ValueError(f"{row.agent} on {row.task} has no metric: it is {row.status}")
    if row.metric in METRICS:
        return METRICS[row.metric]
    # Of a metric that is not built in and of which the row says nothing, lower is better.
    return Metric(
        name=row.metric,
        of=_not_here,
        unit=row.unit or "",
        summary="",
        higher_is_better=bool(row.higher_is_better),
        normalize=row.normalize or "none",
    )


def _not_here(play: object) -> NoReturn:
    raise NotImplementedError("a metric read from results cannot measure play: see `make_metric`")


Cells = Mapping[str, Sequence[Row]]


def complete_cells(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by cell key: only whole cells, and of a cell that is there more than once the last one.

    Returns:
        The cells in the order in which they finished.
    """
    started: dict[str, list[Row]] = {}
    cells: dict[str, list[Row]] = {}
    for row in rows:
        cell = started.setdefault(row.key, [])
        if row.part == 0:
            cell.clear()
        if row.part == len(cell):
            cell.append(row)
            if len(cell) == row.parts:
                cells.pop(row.key, None)
                cells[row.key] = started.pop(row.key)
    return cells
