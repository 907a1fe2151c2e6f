"""Where cells are measured: a process pool on this machine, a Dask cluster or Ray."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import util
from pathlib import Path
from typing import Any, Protocol, TypeVar

from regret_envs.agents.registry import source_hash
from regret_envs.benchmarks.running.watching import Board, join_board

T = TypeVar("T")


class ExecutorError(RuntimeError):
    """Workers are not available or cannot be used; the message says what to do."""


class Pool(Protocol):
    """Workers behind a `concurrent.futures.Executor` that can be restarted."""

    @property
    def num_workers(self) -> int:
        """How many cells can be measured at once."""

    def submit(self, function: Callable[..., T], /, *args: Any) -> Future[T]:
        """As `concurrent.futures.Executor.submit`.

        Raises:
            BrokenExecutor: if the workers are gone.
        """

    def restart(self) -> None:
        """Start new workers after `BrokenExecutor`."""

    def explain(self, error: Exception) -> None:
        """Raise `ExecutorError` if a future's error means that no cell can run there."""

    def running(self) -> dict[str, float]:
        """The seconds that cells have run, by key, where the pool can tell."""

    def kill(self, key: str) -> None:
        """End the worker that runs the cell of that key; other workers may end with it."""

    def close(self, *, now: bool = False) -> None:
        """End the workers; `now`: without waiting for them to finish."""


def connect(where: str, *, preload: Sequence[str] = (), modules: Mapping[str, str] | None = None) -> Pool:
    """Connect to the workers that `where` names.

    Args:
        where: "local" or "local:N", N processes here (all cores by default); "dask://HOST:PORT", the
            scheduler of a Dask cluster; "ray" or "ray:N", a Ray of N processes here; "ray://HOST:PORT",
            a Ray cluster's client server.
        preload: modules that local workers share instead of each importing them.
        modules: the modules that custom agents and worlds need, each with the hash of its source; the
            workers of a cluster must have the same.

    Raises:
        ExecutorError: if the executor is unknown or cannot be reached, or its library is not installed.
    """
    kind, _, count = where.partition(":")
    needed = dict(modules or {})
    if re.fullmatch(r"(local|ray)(:[1-9]\d*)?", where):
        num_workers = int(count) if count else os.cpu_count() or 1
        if kind == "local":
            return LocalPool(num_workers, preload=preload)
        from regret_envs.benchmarks.running.ray_pool import RayPool

        return RayPool(num_workers, modules=needed)
    if re.fullmatch(r"ray://[^/:]+:\d+", where):
        from regret_envs.benchmarks.running.ray_pool import RayPool

        return RayPool(address=where, modules=needed)
    if re.fullmatch(r"dask://[^/:]+:\d+", where):
        from regret_envs.benchmarks.running.dask_pool import DaskPool

        return DaskPool(f"tcp:{count}", modules=needed)
    raise ExecutorError(
        f"unknown executor {where!r}: choose local, local:N, dask://HOST:PORT, ray, ray:N or ray://HOST:PORT"
    )


def same_code(modules: Mapping[str, str]) -> str | None:
    """Run on a worker: what it lacks to reproduce the driver's results, or None.

    Args:
        modules: "regret_envs" to the driver's version, and every custom module to the hash of its source.
    """
    for name, expected in modules.items():
        try:
            found = version("regret-envs") if name == "regret_envs" else source_hash(f"{name}:Any")
        except Exception:
            return (
                f"lacks the module {name!r}: install it there (pip install "
                f"{name.partition('.')[0].replace('_', '-')}), or start the workers with PYTHONPATH set to "
                "its folder"
            )
        if found != expected:
            return f"has a different {name!r} from this process: install the same version on both"
    return None


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


GRACE_SECONDS = 5.0
"""How long idle workers have to end by themselves."""


class LocalPool:
    """A process pool with one thread per worker; a context manager.

    Workers end with the driving process, even if it is killed. Every worker leads a process group of its own,
    and what agents leave behind, threads and processes, ends with it.

    Args:
        num_workers: processes.
        preload: modules imported once, in the server that forks the workers.
    """

    def __init__(self, num_workers: int, *, preload: Sequence[str] = ()) -> None:
        self.num_workers = num_workers
        self._before = set(multiprocessing.active_children())
        self._saved = {name: os.environ.get(name) for name in THREADS}
        # Workers import numpy themselves and read these then.
        os.environ.update(dict.fromkeys(THREADS, "1"))
        self._context = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
        if sys.platform != "win32":
            self._context.set_forkserver_preload(["regret_envs.benchmarks.running.driver", *preload])
        self._board = Board()
        self._executor = self._start()

    def _start(self) -> ProcessPoolExecutor:
        # The server that forks the workers keeps the environment of when the first pool started it.
        return ProcessPoolExecutor(
            self.num_workers,
            mp_context=self._context,
            initializer=_begin_worker,
            initargs=(dict(os.environ), self._board.folder),
        )

    def submit(self, function: Callable[..., T], /, *args: Any) -> Future[T]:
        """See `Pool`."""
        return self._executor.submit(function, *args)

    def restart(self) -> None:
        """See `Pool`."""
        self._kill()
        self._executor = self._start()

    def explain(self, error: Exception) -> None:
        """Errors of a process pool other than `BrokenExecutor` come from what was submitted."""

    def running(self) -> dict[str, float]:
        """See `Pool`."""
        return dict(self._board.read().values())

    def kill(self, key: str) -> None:
        """See `Pool`."""
        for pid, (running, _) in self._board.read().items():
            if running == key:
                _kill_group(pid)

    def close(self, *, now: bool = False) -> None:
        """See `Pool`. Workers that do not end within `GRACE_SECONDS` are killed."""
        # An executor is joined the first time that it is shut down, or never.
        ends = threading.Thread(target=self._executor.shutdown, daemon=True)
        if not now:
            ends.start()
            ends.join(GRACE_SECONDS)
        self._kill()
        if not now:
            ends.join(GRACE_SECONDS)
        self._board.remove()
        for name, value in self._saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def _kill(self) -> None:
        for pid in self._board.pids():
            _kill_group(pid)
            self._board.leave(pid)
        for process in set(multiprocessing.active_children()) - self._before:
            process.kill()  # one that had not begun
        # The executor's thread ends once the workers have. If it met the end of the interpreter, both would
        # close the same pipe, and one of them print a traceback.
        self._executor.shutdown(cancel_futures=True)

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self.close(now=kind is not None)


def _kill_group(pid: int) -> None:
    """End a worker and what agents left behind there."""
    with contextlib.suppress(OSError):  # it has ended
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGKILL)


def _begin_worker(environment: Mapping[str, str], board: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What agents print must not mix with the tables on standard output.
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    if sys.platform != "win32":
        os.setpgid(0, 0)
    join_board(board)
    # Before Python waits for the threads and processes that agents started.
    util.Finalize(None, _end_worker, args=(0,), exitpriority=0)
    driver = multiprocessing.parent_process()
    assert driver is not None
    threading.Thread(target=_end_with, args=(driver,), daemon=True).start()


def _end_with(driver: Any) -> None:
    driver.join()
    _end_worker(1)


def _end_worker(status: int) -> None:
    sys.stderr.flush()
    _kill_group(os.getpid())
    os._exit(status)
