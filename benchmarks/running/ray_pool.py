"""Cells on Ray. Needs the extra `ray`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from regret_envs.benchmarks.running.executors import THREADS, ExecutorError, same_code

T = TypeVar("T")


class RayPool:
    """Ray tasks of one CPU each. Ray does not retry them: the driver does, and sees which cell crashes.

    Args:
        num_workers: processes of a Ray started here, separate from any other; None: those of a cluster.
        address: "ray://HOST:PORT", the client server of a cluster; None: this machine.
        modules: modules that custom agents need on the workers.

    Raises:
        ExecutorError: if Ray is not installed, cannot be started or reached, or the workers lack
            regret-envs, this version of it, or a module.
    """

    def __init__(
        self, num_workers: int | None = None, *, address: str | None = None, modules: dict[str, str]
    ) -> None:
        try:
            import ray
        except ImportError as error:
            message = f'{error.name} is not installed: pip install "regret-envs[ray]"'
            raise ExecutorError(message) from error
        self._ray = ray
        threads = {"env_vars": dict.fromkeys(THREADS, "1")}
        settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        # Our own Ray: "local" ignores RAY_ADDRESS and the file that a crashed cluster leaves behind.
        if address is None:
            settings |= {"address": "local", "num_cpus": num_workers, "include_dashboard": False}
            # Workers on this machine import what the driver can, the working folder first.
            threads["env_vars"]["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        else:
            settings["address"] = address
        settings["runtime_env"] = threads
        try:
            ray.init(**settings)
        except Exception as error:
            raise ExecutorError(
                f"Ray cannot be {'reached at ' + address if address else 'started'}: {error}; RAY_AUTH_MODE "
                f"is {os.environ.get('RAY_AUTH_MODE', 'unset')!r} here; all processes of a cluster need the "
                "same mode and token"
            ) from error
        self._call = ray.remote(num_cpus=1, max_retries=0)(_call)
        try:
            problem = self.submit(same_code, modules).result()
        except Exception as error:
            self.close(now=True)
            self.explain(error)
            raise
        if problem:
            self.close(now=True)
            raise ExecutorError(f"a Ray worker {problem}")

    @property
    def num_workers(self) -> int:
        """CPUs of the cluster, whose nodes may come and go."""
        return max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def submit(self, function: Callable[..., T], /, *args: Any) -> Future[T]:
        """See `Pool`."""
        future: Future[T] = self._call.remote(function, args).future()
        return future

    def restart(self) -> None:
        """See `Pool`. Ray replaces workers itself."""

    def explain(self, error: Exception) -> None:
        """Name the module that is missing on a worker that cannot unpickle its work."""
        text = str(error)
        name = text.partition("No module named '")[2].partition("'")[0]
        if name:
            raise ExecutorError(
                f"the Ray workers lack the module {name!r}: install it in their environment "
                f"(pip install {name.partition('.')[0].replace('_', '-')})"
            ) from error

    def running(self) -> dict[str, float]:
        """See `Pool`. It cannot tell."""
        return {}

    def kill(self, key: str) -> None:
        """See `Pool`. It cannot."""

    def close(self, *, now: bool = False) -> None:
        """Shut down our own Ray; leave a cluster running."""
        self._ray.shutdown()


def _call(function: Callable[..., T], args: tuple[Any, ...]) -> T:
    return function(*args)
