"""A real server, `transformers serve`, over a tiny model with random weights. Run by .ci/llm."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from regret_envs.benchmarks.running.results import read

pytestmark = pytest.mark.llm

TASKS = "language_alternating_d2_t20,language_prisoners_dilemma_t25"


@pytest.fixture(scope="module")
def base_url(tmp_path_factory):
    """The server's address; it is ended after the tests."""
    folder = tmp_path_factory.mktemp("server")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub")}
    script = Path(__file__).with_name("tiny_model.py")
    subprocess.run([sys.executable, script, "tiny"], cwd=folder, env=environment, check=True, timeout=300)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("transformers"), "serve", "tiny", "--device", "cpu"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait(30)


def test_two_tasks_are_played_to_the_end(base_url, tmp_path):
    """Random weights say nothing that can be read, so uniform play takes their place, and is counted."""
    spec = f"llm[model=tiny,base_url={base_url},max_tokens=8,attempts=2,concurrency=2]"
    command = [sys.executable, "-m", "regret_envs", "run", "--suite", TASKS, "--agents", f"uniform,{spec}"]
    environment = {**os.environ, "REGRET_ENVS_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [*command, "--runs", "2", "--results", "results.jsonl"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = read(tmp_path / "results.jsonl").rows
    assert {row.status for row in rows} == {"ok"}
    values = {(row.task, row.agent == "uniform", row.metric, row.round): row.values for row in rows}
    for (task, uniform, metric, t), found in values.items():
        assert found == values[task, not uniform, metric, t]
    used = [usage for row in rows for agent, usage in row.usage if agent != "uniform"]
    assert sum(usage.decisions for usage in used) == 2 * 20 + 2 * 2 * 25
    for usage in used:
        assert usage.fallbacks == usage.decisions
        assert usage.requests == 2 * usage.decisions
        assert usage.prompt_tokens > 0
        assert usage.examples
