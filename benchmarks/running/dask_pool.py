"""Cells on a Dask cluster. Needs the extra `dask`."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from typing import Any, TypeVar

from regret_envs.benchmarks.running.executors import ExecutorError, same_code

T = TypeVar("T")
_ASK_SECONDS = 5.0


class DaskPool:
    """The workers of a scheduler.

    Dask itself replaces a worker that dies: it gives the worker's cells to others, and gives up with
    `KilledWorker` on a cell that killed three of them.

    Args:
        address: "tcp://HOST:PORT" of the scheduler.
        modules: modules that custom agents need on the workers.

    Raises:
        ExecutorError: if Dask is not installed, the scheduler does not answer or has no workers, or the
            workers lack regret-envs, this version of it, or a module.
    """

    def __init__(self, address: str, *, modules: dict[str, str]) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            message = f'{error.name} is not installed: pip install "regret-envs[dask]"'
            raise ExecutorError(message) from error
        try:
            self._client = Client(address, timeout="10s", set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ExecutorError(
                f"there is no Dask scheduler at {address}: {error}; start one with `dask scheduler`"
            ) from error
        self._threads, self._asked = 0, -math.inf
        try:
            self._check(address, modules)
        except BaseException:
            self._client.close()
            raise
        # Not pure: otherwise Dask hashes every argument to find equal calls.
        self._executor = self._client.get_executor(pure=False)

    def _check(self, address: str, modules: dict[str, str]) -> None:
        if not self.num_workers:
            raise ExecutorError(
                f"the Dask scheduler at {address} has no workers: start some with "
                f"`dask worker {address} --nthreads 1`"
            )
        try:
            found = self._client.run(same_code, modules)
        except Exception as error:
            self.explain(error)
            raise
        for worker, problem in found.items():
            if problem:
                raise ExecutorError(f"the Dask worker at {worker} {problem}")

    @property
    def num_workers(self) -> int:
        """Threads of all workers, which may come and go; looked up every few seconds."""
        if time.monotonic() - self._asked > _ASK_SECONDS:
            self._asked = time.monotonic()
            # If the scheduler is gone, `submit` says so.
            with contextlib.suppress(OSError):
                self._threads = sum(self._client.nthreads().values())
        return self._threads

    def submit(self, function: Callable[..., T], /, *args: Any) -> Future[T]:
        """See `Pool`. The future here holds Dask's, so the workers forget a result once it is read."""
        if self._client.status != "running":
            raise BrokenExecutor("the connection to the Dask scheduler is lost")
        return self._executor.submit(function, *args)

    def restart(self) -> None:
        """See `Pool`. A scheduler that is gone does not come back.

        Raises:
            ExecutorError: always.
        """
        for name in ("distributed.client", "distributed.core", "tornado"):  # they say the same at length
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        raise ExecutorError("the connection to the Dask scheduler is lost; finished cells are saved")

    def explain(self, error: Exception) -> None:
        """Name the module that is missing on a worker that cannot unpickle its work."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ModuleNotFoundError):
                raise ExecutorError(
                    f"the Dask workers lack the module {cause.name!r}: install it in their environment "
                    f"(pip install {(cause.name or '').partition('.')[0].replace('_', '-')}), or start them "
                    "with PYTHONPATH set to its folder"
                ) from error
            cause = cause.__cause__ or cause.__context__

    def running(self) -> dict[str, float]:
        """See `Pool`. It cannot tell."""
        return {}

    def kill(self, key: str) -> None:
        """See `Pool`. It cannot."""

    def close(self, *, now: bool = False) -> None:
        """Leave the cluster running; `now`: cancel what was submitted."""
        self._executor.shutdown(wait=not now)
        self._client.close()
