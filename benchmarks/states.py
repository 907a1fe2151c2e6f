"""States of cells that take long, so that an interrupted one goes on from where it was."""

from __future__ import annotations

import contextlib
import pickle
import time
from pathlib import Path
from typing import Any

SAVE_SECONDS, SHOW_SECONDS, PAUSES = 15.0, 1.0, 20
_ROUNDS = ".rounds"


class State:
    """The file of one cell's state, and one beside it with the share of the rounds that is played.

    Where nothing can be written, as on another machine, or an agent does not pickle, the cell goes on
    without. The files are pickles: they belong in a folder of one's own.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._shown = time.monotonic()
        self._due = self._shown + SAVE_SECONDS

    def load(self) -> Any:
        """What an interrupted run left; None where there is nothing that can be read."""
        if self._path is not None:
            # Pickles may raise anything; a cell then begins anew.
            with contextlib.suppress(Exception):
                return pickle.loads(self._path.read_bytes())
        return None

    def keep(self, share: float, content: object) -> None:
        """Write the share once a second, and the content now and then: a twentieth of the time at most."""
        now = time.monotonic()
        if self._path is None or now - self._shown < SHOW_SECONDS:
            return
        self._shown = now
        with contextlib.suppress(Exception):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.with_suffix(_ROUNDS).write_text(f"{share:.4f}")
            if now >= self._due:
                self._due = now + SAVE_SECONDS
                beside = self._path.with_suffix(".tmp")
                with beside.open("wb") as file:
                    pickle.dump(content, file)
                beside.replace(self._path)
                self._shown = time.monotonic()
                self._due = self._shown + max(SAVE_SECONDS, PAUSES * (self._shown - now))

    def drop(self) -> None:
        """Remove the files: the cell came to its end."""
        if self._path is not None:
            for path in (self._path, self._path.with_suffix(_ROUNDS), self._path.with_suffix(".tmp")):
                with contextlib.suppress(OSError):
                    path.unlink()


def shares_played(folder: Path) -> list[float]:
    """The shares of their rounds that long cells have played, of those being played or interrupted."""
    shares = []
    for path in sorted(folder.glob(f"*{_ROUNDS}")):
        with contextlib.suppress(OSError, ValueError):
            shares.append(float(path.read_text()))
    return shares
