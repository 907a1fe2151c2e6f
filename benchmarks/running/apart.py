"""Calls of code that users bring, in a process of its own: whatever it does, this process goes on."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any, TypeVar

from regret_envs.agents import registry
from regret_envs.agents.inputs import files_read
from regret_envs.benchmarks.running.executors import LocalPool
from regret_envs.forks import forks_end
from regret_envs.names import UnknownNameError
from regret_envs.testing.findings import described

T = TypeVar("T")

LIMIT_SECONDS = 60.0


class Died(RuntimeError):
    """A call did not return: it left its process, raised what is not an `Exception`, or took too long."""


class Apart:
    """A process for calls, and another one after it was left; a context manager.

    It starts with the first call. What calls print goes to standard error.

    Args:
        limit: seconds for each call.
        preload: as of `LocalPool`.
    """

    def __init__(self, *, limit: float = LIMIT_SECONDS, preload: Sequence[str] = ()) -> None:
        self._limit = limit
        self._preload = preload
        self._pool: LocalPool | None = None
        self._workers: set[Any] = set()

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """The function's result; function, arguments and result are pickled.

        Raises:
            Died: if there is none; says what happened.
            Exception: what the function raises.
        """
        if self._pool is None:
            before = set(multiprocessing.active_children())
            self._pool = LocalPool(1, preload=self._preload)
            self._pool.submit(os.getpid).result()  # to start is not the call's time
            self._workers = set(multiprocessing.active_children()) - before
        future = self._pool.submit(_called, function, args)
        until = time.monotonic() + self._limit
        try:
            return future.result(timeout=self._limit)
        except BrokenExecutor as error:
            workers = self._workers
            self._close()
            ends = [_ending(worker.exitcode) for worker in workers]
            raise Died(ends[0] if ends else f"its process ended: {error}") from None
        except TimeoutError:
            if time.monotonic() < until:  # the function's own
                raise
            self._close()
            raise Died(f"did not end within {self._limit:g} s") from None

    def _close(self) -> None:
        if self._pool is not None:
            self._pool.close(now=True)
        self._pool, self._workers = None, set()

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()


def _called(function: Callable[..., T], args: Sequence[Any]) -> T:
    try:
        with forks_end():
            return function(*args)
    except Exception:
        raise
    except BaseException as error:  # as the result of a call it would end this command
        raise Died(f"raised {described(error)}") from None


def _ending(status: int | None) -> str:
    if status is not None and status < 0:
        return f"its process was killed by {signal.Signals(-status).name}"
    return f"its process ended with status {status}, as by os._exit"


def try_agent(spec: str) -> dict[str, str]:
    """Make an agent, and let pass what would fail in its cells with a traceback.

    Returns:
        The files that it depends on, see `files_read`.

    Raises:
        MissingExtraError, AgentImportError, SpecError, UnknownNameError: as `registry.make`.
    """
    try:
        files = files_read(spec)
        registry.make(spec)
        return files
    except (registry.MissingExtraError, registry.AgentImportError) as error:
        raise type(error)(str(error)) from None  # without the cause, which may not pickle
    except (registry.SpecError, UnknownNameError):
        raise
    except BaseException as error:
        print(f"{spec} cannot be made: {described(error)}", file=sys.stderr)
        return {}
