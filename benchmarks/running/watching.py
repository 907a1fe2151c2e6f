"""What workers run and for how long: a board that they write on, and the time limit of a cell."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

_RECORD = struct.Struct("16s d")
_IDLE = b"-" * 16


class CellTimeout(BaseException):
    """A cell has run longer than it may. Not an `Exception`, so that agents do not take it for theirs."""


class Board:
    """One small file per worker process of this machine: the key of the cell that it runs, and since when.

    Args:
        folder: that of another process; None: a new one.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="regret-envs-"))

    def join(self) -> None:
        """Give this process a file, in which it is idle."""
        self._file = (self.folder / str(os.getpid())).open("wb", buffering=0)
        self._write(_IDLE)

    @contextlib.contextmanager
    def running(self, key: str) -> Iterator[None]:
        """This process runs the cell of that key."""
        self._write(key.encode())
        try:
            yield
        finally:
            self._write(_IDLE)

    def _write(self, key: bytes) -> None:
        # The board is a comfort: a full disk does not cost the cell.
        with contextlib.suppress(OSError):
            self._file.seek(0)
            self._file.write(_RECORD.pack(key, time.time()))

    def pids(self) -> list[int]:
        """The processes that joined."""
        try:
            return [int(path.name) for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []

    def read(self) -> dict[int, tuple[str, float]]:
        """By process that runs a cell: its key, and the seconds since it began."""
        found = {}
        for pid in self.pids():
            with contextlib.suppress(OSError, struct.error):
                key, since = _RECORD.unpack((self.folder / str(pid)).read_bytes())
                if key != _IDLE:
                    found[pid] = key.decode(), time.time() - since
        return found

    def leave(self, pid: int) -> None:
        """Forget a process that ended."""
        with contextlib.suppress(OSError):
            (self.folder / str(pid)).unlink()

    def remove(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.folder, ignore_errors=True)


_board: Board | None = None


def join_board(folder: Path) -> None:
    """Write what this process runs on a board."""
    global _board
    _board = Board(folder)
    _board.join()


@contextlib.contextmanager
def watched(key: str, limit: float | None) -> Iterator[None]:
    """Run a cell for at most `limit` seconds, and write so on the board, if this process has joined one.

    The limit interrupts Python code in the main thread of a process where there is SIGALRM, and does nothing
    elsewhere. An agent that runs native code for longer, or catches everything, is killed by the driver.

    Raises:
        CellTimeout: if it runs longer.
    """
    with _board.running(key) if _board else contextlib.nullcontext(), _alarm(limit):
        yield


@contextlib.contextmanager
def surroundings_kept() -> Iterator[None]:
    """Undo in a worker what a cell does to its folder, environment and output: the next cell has them too."""
    if multiprocessing.parent_process() is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    folder, environment, streams = os.getcwd(), dict(os.environ), (sys.stdout, sys.stderr)
    kept = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    try:
        yield
    finally:
        for descriptor, copy in kept.items():
            with contextlib.suppress(OSError):  # the agent closed the copy
                os.dup2(copy, descriptor)
                os.close(copy)
        os.chdir(folder)
        sys.stdout, sys.stderr = streams
        if os.environ != environment:
            os.environ.clear()
            os.environ.update(environment)


@contextlib.contextmanager
def _alarm(limit: float | None) -> Iterator[None]:
    if (
        limit is None
        or not hasattr(signal, "SIGALRM")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def ring(*_: object) -> NoReturn:
        raise CellTimeout(overdue(limit))

    before = signal.signal(signal.SIGALRM, ring)
    # Again every second, for an agent that catches everything and goes on.
    signal.setitimer(signal.ITIMER_REAL, limit, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def overdue(limit: float) -> str:
    """What the row of a cell says that ran longer."""
    return f"it ran longer than {limit:g} s, the limit of a cell (--cell-timeout)"
