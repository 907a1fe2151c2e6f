"""Places in flight: at most so many requests to a server at a time, of all processes on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import os
import sys
import time
from collections.abc import AsyncIterator
from functools import cached_property
from pathlib import Path

from regret_envs.agents.llm.cache import CacheError

RECENT = 3600.0
"""Seconds for which a server that answered counts as one that is there."""


class Places:
    """The places of one server, files in the cache folder that processes lock. Locks end with their process.

    Args:
        folder: the cache folder.
        base_url: the server.
        concurrency: how many places there are.
    """

    def __init__(self, folder: Path, base_url: str, concurrency: int) -> None:
        self._folder = folder / "in-flight" / hashlib.sha256(base_url.encode()).hexdigest()[:16]
        self._concurrency = concurrency
        self._limit = asyncio.Semaphore(concurrency)
        self._noted = -RECENT

    @contextlib.asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """A place, waited for while this process or others have taken all.

        Raises:
            CacheError: if the folder cannot be written.
        """
        async with self._limit:
            for tried in itertools.count(1):
                place = self._free.pop()
                if _lock(place):
                    break
                self._free.insert(0, place)
                if tried % self._concurrency == 0:
                    await asyncio.sleep(0.01)
            try:
                yield
            finally:
                _unlock(place)
                self._free.append(place)

    @property
    def answered_lately(self) -> bool:
        """Whether the server has answered some process in the last hour: then it is worth waiting for."""
        try:
            return time.time() - (self._folder / "answered").stat().st_mtime < RECENT
        except OSError:
            return False

    def note_answer(self) -> None:
        """Remember that the server has answered; a minute is near enough."""
        if time.monotonic() - self._noted > 60:
            self._noted = time.monotonic()
            with contextlib.suppress(OSError):
                (self._folder / "answered").touch()

    @cached_property
    def _free(self) -> list[int]:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            return [
                os.open(self._folder / f"{k}.lock", os.O_RDWR | os.O_CREAT) for k in range(self._concurrency)
            ]
        except OSError as error:
            raise CacheError(f"{self._folder} cannot be written: {error.strerror}") from None


# One lock for each request: filelock's 0.3 ms would add a fifth to its cost.
if sys.platform == "win32":  # there, the limit is each process's own

    def _lock(place: int) -> bool:
        return True

    def _unlock(place: int) -> None:
        pass

else:
    import fcntl

    def _lock(place: int) -> bool:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(place: int) -> None:
        fcntl.flock(place, fcntl.LOCK_UN)
