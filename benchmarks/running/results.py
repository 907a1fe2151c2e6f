"""Results: an append-only file of JSON lines, one per measured value, and how it is read back.

The first line is a header; every other line is a `Row`, or the header of another file that was appended. The
rows of a cell are numbered and written together, so that a cell that a killed process left half written is
recognized.
"""

from __future__ import annotations

import errno
import getpass
import os
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType

import filelock
import msgspec

from regret_envs.benchmarks.running.joining import Part, join, unfinished
from regret_envs.benchmarks.running.rows import Row, complete_cells, fault
from regret_envs.files import replacing

FORMAT = "regret-envs results"
FORMAT_VERSION = 2


class ResultsError(ValueError):
    """The file is not a results file, comes from a newer version, or is damaged."""


class Header(msgspec.Struct, frozen=True):
    """The first line of a file. A newer version may have more fields, so unknown ones are accepted."""

    format: str
    version: int


@dataclass(frozen=True)
class Contents:
    """The contents of results files.

    Attributes:
        rows: the rows in the order in which they were written; of several files, or of files that were
            appended to each other, the whole cells by day, and of a cell that is there twice one.
        torn: a last line that a killed process left unfinished and that was skipped, or None.
        size: the number of bytes before the torn line; of several files, of the last one.
        skipped: what is wrong and was left out, a line each: file, line and field.
        unfinished: the cells that lack rows, as a process that is killed leaves them, a line each.
    """

    rows: list[Row]
    torn: bytes | None
    size: int
    skipped: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()


def read(*paths: str | os.PathLike[str]) -> Contents:
    """Read results files; one that does not exist or is empty holds no rows.

    A line that is not a row, or whose values cannot be, is skipped, and so is a cell that the files have
    twice with results that differ; `Contents.skipped` says so. A torn last line is not an error.

    Raises:
        ResultsError: if a file is not a results file or comes from a newer version.
        OSError: if it cannot be read.
    """
    parts: list[Part] = []
    skipped: list[str] = []
    torn, size = b"", 0
    for path in map(Path, paths):
        data = path.read_bytes() if path.exists() else b""
        lines = data.split(b"\n")
        tail = lines.pop()
        if not lines and not _header_line().startswith(tail):
            raise ResultsError(f"{path} is not a results file of regret-envs: its first line is not a header")
        found, wrong = _parts(path, lines)
        parts += found
        skipped += wrong
        torn, size = torn or tail, len(data) - len(tail)
    rows, wrong = join(parts)
    return Contents(rows, torn or None, size, (*skipped, *wrong), tuple(unfinished(parts)))


def _parts(path: Path, lines: Sequence[bytes]) -> tuple[list[Part], list[str]]:
    """The rows below every header of a file, and what is wrong with other lines."""
    decoder = msgspec.json.Decoder(Row)
    parts: list[Part] = []
    wrong: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        if number == 1:
            _check_header(path, line)
            parts.append(Part(str(path)))
            continue
        try:
            row = decoder.decode(line)
        except msgspec.MsgspecError as error:
            if _header(line) is not None:  # of a file that was appended to this one
                _check_header(path, line)
                parts.append(Part(str(path)))
            elif line.strip():
                wrong.append((number, f"not a row: {error}"))
            continue
        if row.opponent is not None:
            row = msgspec.structs.replace(row, seats=(row.agent, row.opponent), opponent=None)
        if (what := fault(row)) is not None:
            wrong.append((number, what))
        else:
            parts[-1].add(number, row)
    return parts, _said(path, wrong)


def _said(path: Path, wrong: Sequence[tuple[int, str]]) -> list[str]:
    """A line for every run of lines with the same fault."""
    runs: list[tuple[int, int, str]] = []
    for number, what in wrong:
        if runs and runs[-1][1:] == (number - 1, what):
            runs[-1] = (runs[-1][0], number, what)
        else:
            runs.append((number, number, what))
    return [
        f"{path}, {f'line {first}' if first == last else f'lines {first} to {last}'}: {what}; skipped"
        for first, last, what in runs
    ]


def write(path: str | os.PathLike[str], rows: Iterable[Row]) -> None:
    """Write a new results file with these rows; it is whole or not there.

    Raises:
        OSError: if it cannot be written.
    """
    with replacing(path) as part, part.open("wb") as file:
        file.write(_header_line() + b"\n")
        file.writelines(msgspec.json.encode(row) + b"\n" for row in rows)


def _header_line() -> bytes:
    return msgspec.json.encode(Header(FORMAT, FORMAT_VERSION))


def _header(line: bytes) -> Header | None:
    try:
        return msgspec.json.decode(line, type=Header)
    except msgspec.MsgspecError:
        return None


def _check_header(path: Path, line: bytes) -> None:
    header = _header(line)
    if header is None or header.format != FORMAT:
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
            self._start = self._size
        except BaseException:
            self._close()
            raise

    def append(self, rows: Iterable[Row]) -> None:
        """Write the rows of whole cells, all of them or none, and flush them to disk.

        Raises:
            ResultsError: if they do not fit or cannot be written, or a row has a value that could not be
                read again; the file is then left as it was.
        """
        rows = list(rows)
        for row in rows:
            if (what := fault(row)) is not None:
                raise ResultsError(f"{row.agent} on {row.task} has a row that cannot be written: {what}")
        self._write(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))

    def appended(self) -> int:
        """How many whole cells the file has that it did not have when it was opened."""
        written = self.path.read_bytes()[self._start :]  # an interrupt may fall between writing and counting
        lines = written[: written.rfind(b"\n") + 1].splitlines()
        return len(complete_cells(msgspec.json.decode(line, type=Row) for line in lines))

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
