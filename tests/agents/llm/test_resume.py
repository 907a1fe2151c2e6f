"""Killed in the middle: the driver and the server. Nothing that was answered is asked again.

Takes a while, so it is run by .ci/llm.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import scripted_server

from regret_envs.benchmarks.running.results import read
from regret_envs.benchmarks.running.rows import complete_cells

pytestmark = pytest.mark.llm

CONCURRENCY = 3
TASK, REQUESTS = "biased_gaussian_d3_t20", 4 * 20
COMMAND = [sys.executable, "-c", "from regret_envs.benchmarks.cli.main import main; main()"]


class Server:
    """A scripted server in a process of its own, with a log of what it answered."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        self._log = folder / f"{self.port}.log"
        self.start()

    def start(self):
        script = Path(scripted_server.__file__)
        self.process = subprocess.Popen([sys.executable, script, str(self.port), self._log, "0.02"])
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)

    def kill(self):
        self.process.kill()
        self.process.wait(30)

    def answered(self):
        """What was answered, as texts; a request may have been answered to nobody."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [json.dumps(json.loads(line)) for line in lines]

    def wait_for(self, count):
        deadline = time.monotonic() + 300
        while len(self.answered()) < count:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    yield server
    server.kill()


def start(server, folder):
    """The driver, in a process group of its own."""
    folder.mkdir(exist_ok=True)
    spec = f"llm[model=m,base_url={server.base_url},seed=1,concurrency={CONCURRENCY}]"
    return subprocess.Popen(
        [*COMMAND, "run", "--suite", TASK, "--agents", spec, "--runs", "4", "--results", "rows"],
        cwd=folder,
        env={**os.environ, "REGRET_ENVS_CACHE": str(folder / "cache")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def values(folder):
    """What was measured, by metric and round."""
    (cell,) = complete_cells(read(folder / "rows").rows).values()
    assert {row.status for row in cell} == {"ok"}
    return {(row.metric, row.round): row.values for row in cell}, cell[0].usage[0][1]


def test_a_killed_driver_goes_on_where_it_was(server, tmp_path):
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    driver = start(server, broken)
    server.wait_for(REQUESTS // 2)
    driver.send_signal(signal.SIGKILL)
    driver.wait(30)
    driver.stderr.close()
    time.sleep(1)  # its workers end with it
    before = len(server.answered())
    assert before < REQUESTS
    start(server, broken).communicate(timeout=600)
    answered = server.answered()
    assert len(answered) <= REQUESTS + CONCURRENCY
    repeated = Counter(answered)
    assert sum(count - 1 for count in repeated.values()) <= CONCURRENCY
    assert len(repeated) == REQUESTS

    start(server, whole).communicate(timeout=600)
    assert len(server.answered()) == len(answered) + REQUESTS
    assert values(broken)[0] == values(whole)[0]


def test_a_server_that_dies_and_comes_back_is_waited_for(server, tmp_path):
    driver = start(server, tmp_path / "x")
    server.wait_for(REQUESTS // 2)
    server.kill()
    time.sleep(0.5)
    server.start()
    driver.communicate(timeout=600)
    assert driver.returncode == 0
    _, usage = values(tmp_path / "x")
    assert usage.retries > 0
    assert usage.requests == usage.decisions == REQUESTS
    assert usage.fallbacks == 0
