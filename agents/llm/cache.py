"""Every answer that was paid for, on disk: a killed run goes on and a repeated one costs nothing.

An SQLite file in the cache folder, keyed by the hash of what was asked. It holds answers alone: no
messages, no addresses and no keys.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import msgspec

FOLDER_VARIABLE = "REGRET_ENVS_CACHE"


class CacheError(OSError):
    """The cache cannot be read or written; says which file and what to do."""


class Answer(msgspec.Struct, frozen=True):
    """What a server answered to one request, and what that cost.

    Attributes:
        text: what the model said.
        finish_reason: why it ended, such as "stop" or "length".
        refusal: why the model refused, in the server's field for it, or None.
        prompt_tokens, completion_tokens: as the server counts them; 0 where it does not.
        seconds: from sending the request that was answered to having its answer.
        retries: requests before it that failed.
    """

    text: str
    finish_reason: str = "stop"
    refusal: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    retries: int = 0


def cache_folder() -> Path:
    """The folder named by REGRET_ENVS_CACHE, else the user's cache folder for regret-envs."""
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "regret-envs"


def request_key(**request: Any) -> str:
    """The hash of a request: server, model, settings, messages and the number of the sample."""
    return hashlib.sha256(msgspec.json.encode(request, order="sorted")).hexdigest()


class AnswerCache:
    """Answers by the keys of their requests. Several processes may use one file at a time.

    Args:
        folder: where `answers.sqlite` lies.

    Raises:
        CacheError: if the file cannot be opened.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "answers.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Autocommit: an answer is safe from the death of the process as soon as it is put.
            self._database = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer BLOB NOT NULL)"
            )
        except (OSError, sqlite3.Error) as error:
            raise self._error(error) from None

    def get(self, key: str) -> Answer | None:
        """The answer to a request, or None if there is none yet."""
        try:
            found = self._database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
            return None if found is None else msgspec.json.decode(found[0], type=Answer)
        except (sqlite3.Error, msgspec.MsgspecError) as error:
            raise self._error(error) from None

    def put(self, key: str, answer: Answer) -> Answer:
        """Keep an answer.

        Returns:
            What the file holds: another process's answer if that one was first, so that a run and its
            repetition play alike.
        """
        try:
            self._database.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, msgspec.json.encode(answer))
            )
        except sqlite3.Error as error:
            raise self._error(error) from None
        return self.get(key) or answer

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _error(self, error: Exception) -> CacheError:
        return CacheError(
            f"the cache of answers {self.path} cannot be used ({error}): remove the file, or name another "
            f"folder in {FOLDER_VARIABLE}"
        )
