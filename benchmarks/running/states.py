"""Saved states of long cells, so that an interrupted cell resumes where it stopped."""

from __future__ import annotations

import contextlib
import math
import pickle
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from regret_envs.files import PART, replacing

if TYPE_CHECKING:
    from typing_extensions import Buffer

SAVE_SECONDS, SHOW_SECONDS, PAUSES = 15.0, 1.0, 20
MAX_BYTES = 1 << 28  # many runs with many actions would fill a disk
_ROUNDS = ".rounds"


class _Bounded:
    """A file that accepts at most MAX_BYTES."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = MAX_BYTES

    def write(self, data: Buffer) -> int:
        self._left -= memoryview(data).nbytes
        if self._left < 0:
            raise OSError(f"the state is larger than {MAX_BYTES} bytes")
        return self._file.write(data)


class State:
    """The file with one cell's state, and one next to it with the share of the rounds played so far.

    The cell continues without a saved state where nothing can be written (as on another machine), an agent
    does not pickle, or the state is larger than MAX_BYTES.

    Args:
        path: the file; None: nothing is written.
        pickles: whether the state is saved and loaded, not only the share. States are pickles, which run code
            when they are loaded: use a folder that nobody else writes to.
    """

    def __init__(self, path: Path | None, *, pickles: bool = True) -> None:
        self._path = path
        self._pickles = pickles
        self._shown = time.monotonic()
        self._due = self._shown + SAVE_SECONDS

    def load(self) -> Any:
        """What an interrupted run left; None if there is nothing that can be read."""
        if self._path is not None and self._pickles:
            # Unpickling may raise anything; the cell then starts over.
            with contextlib.suppress(Exception):
                return pickle.loads(self._path.read_bytes())
        return None

    def keep(self, share: float, content: object) -> None:
        """Write the share once per second, and the content using at most a twentieth of the time."""
        now = time.monotonic()
        if self._path is None or now - self._shown < SHOW_SECONDS:
            return
        self._shown = now
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.with_suffix(_ROUNDS).write_text(f"{share:.4f}")
        if self._pickles and now >= self._due:
            try:
                with replacing(self._path) as part, part.open("wb") as file:
                    pickle.dump(content, _Bounded(file))
            except Exception:  # pickling may raise anything: the cell continues without
                self._due = math.inf
                return
            self._shown = time.monotonic()
            self._due = self._shown + max(SAVE_SECONDS, PAUSES * (self._shown - now))

    def drop(self) -> None:
        """Remove the files: the cell is finished."""
        if self._path is not None:
            # A process that was killed may have left a part.
            parts = self._path.parent.glob(f"{self._path.name}.*{PART}")
            for path in (self._path, self._path.with_suffix(_ROUNDS), *parts):
                with contextlib.suppress(OSError):
                    path.unlink()


def shares_played(folder: Path) -> list[float]:
    """The shares of the rounds played so far, for every long cell that is running or was interrupted."""
    shares = []
    for path in sorted(folder.glob(f"*{_ROUNDS}")):
        with contextlib.suppress(OSError, ValueError):
            shares.append(float(path.read_text()))
    return shares
