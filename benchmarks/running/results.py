"""Results: an append-only file of JSON lines, one per measured value, and how it is read back.

The first line is a header; every other line is a `Row`. The rows of a cell are numbered and written
together, so that a cell that a killed process left half written is recognized.
"""

from __future__ import annotations

import errno
import getpass
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, NoReturn

import filelock
import msgspec

from regret_envs.agents.usage import Usage
from regret_envs.metrics.catalog import METRICS, Metric, Normalize

FORMAT = "regret-envs results"
FORMAT_VERSION = 2
ROW_SCHEMA = 2

Status = Literal["ok", "failed", "n/a"]
Engine = Literal["numpy", "jax"]


class ResultsError(ValueError):
    """The file is not a results file, comes from a newer version, or is damaged."""


class Header(msgspec.Struct, frozen=True):
    """The first line of a file. A newer version may have more fields, so unknown ones are accepted."""

    format: str
    version: int


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


@dataclass(frozen=True)
class Contents:
    """The contents of a results file.

    Attributes:
        rows: the rows in the order in which they were written.
        torn: a last line that a killed process left unfinished and that was skipped, or None.
        size: the number of bytes before the torn line.
    """

    rows: list[Row]
    torn: bytes | None
    size: int


def read(path: str | os.PathLike[str]) -> Contents:
    """Read a results file; one that does not exist or is empty holds no rows.

    Raises:
        ResultsError: if it is not a results file, comes from a newer version, or has a line that is not a
            row (for instance with an unknown field); says which line. A torn last line is not an error.
    """
    path = Path(path)
    data = path.read_bytes() if path.exists() else b""
    lines = data.split(b"\n")
    tail = lines.pop()
    header = _header_line()
    if not lines:
        if not header.startswith(tail):
            raise ResultsError(f"{path} is not a results file of regret-envs: its first line is not a header")
        return Contents([], tail or None, 0)
    _check_header(path, lines[0])
    decoder = msgspec.json.Decoder(Row)
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            row = decoder.decode(line)
            if row.opponent is not None:
                row = msgspec.structs.replace(row, seats=(row.agent, row.opponent), opponent=None)
            rows.append(row)
        except msgspec.MsgspecError as error:
            raise ResultsError(f"{path}, line {number} is not a row: {error}") from None
    return Contents(rows, tail or None, len(data) - len(tail))


def _header_line() -> bytes:
    return msgspec.json.encode(Header(FORMAT, FORMAT_VERSION))


def _check_header(path: Path, line: bytes) -> None:
    try:
        header = msgspec.json.decode(line, type=Header)
    except msgspec.MsgspecError:
        header = Header("", 0)
    if header.format != FORMAT:
        raise ResultsError(f"{path} is not a results file of regret-envs: its first line is not a header")
    if header.version > FORMAT_VERSION:
        raise ResultsError(
            f"{path} comes from a newer version of regret-envs (format {header.version}; this one reads up "
            f"to {FORMAT_VERSION}): upgrade regret-envs, or give another file with --results"
        )


class Holder(msgspec.Struct, frozen=True):
    """Who is writing to a results file; kept next to it, in FILE.holder, while the file is locked."""

    pid: int
    host: str
    user: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} of {self.user} on {self.host}, since {self.since}"


class Writer:
    """Appends whole cells to a results file, which it locks; a context manager.

    Opening reads the file (`contents`), writes the header of a new file and cuts off a torn last line, so
    that the next row starts on a line of its own. The lock, on FILE.lock, ends with the process, however that
    ends; the lock file itself stays, since removing it could let two processes in.

    Raises:
        ResultsError: as `read`, or if another process writes to the file; says which.
        OSError: if the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._holder = self.path.with_name(self.path.name + ".holder")
        self._file = self.path.open("ab", buffering=0)
        self._file_lock = filelock.FileLock(f"{self.path}.lock")
        try:
            self._lock()
            self.contents = read(self.path)
            self._size = self.contents.size
            if self.contents.torn:
                self._file.truncate(self._size)
            if not self._size:
                self._write(_header_line() + b"\n")
        except BaseException:
            self._close()
            raise

    def append(self, rows: Iterable[Row]) -> None:
        """Write the rows of whole cells, all of them or none, and flush them to disk.

        Raises:
            ResultsError: if they do not fit or cannot be written; the file is then left as it was.
        """
        self._write(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(self._size)
            raise ResultsError(
                f"{self.path} cannot be written: {error.strerror}; earlier results are intact: free some "
                "space and run again to continue"
            ) from error
        finally:
            if left:  # an interrupt in between
                self._file.truncate(self._size)
        self._size += len(data)

    def _lock(self) -> None:
        try:
            self._file_lock.acquire(timeout=0)
        except filelock.Timeout:
            try:
                holder = str(msgspec.json.decode(self._holder.read_bytes(), type=Holder))
            except (OSError, msgspec.MsgspecError):
                holder = "another process"
            raise ResultsError(
                f"{self.path} is being written by {holder}: wait until that ends, or give another file "
                "with --results"
            ) from None
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno not in (errno.ENOLCK, errno.ENOTSUP):
                raise
            return  # a network folder without locks
        now = datetime.now().astimezone().isoformat(" ", "seconds")
        try:
            user = getpass.getuser()
        except Exception:  # a user without a name, as in some containers
            user = "?"
        self._holder.write_bytes(msgspec.json.encode(Holder(os.getpid(), socket.gethostname(), user, now)))

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._holder.unlink(missing_ok=True)
        self._close()

    def _close(self) -> None:
        self._file_lock.release()
        self._file.close()
