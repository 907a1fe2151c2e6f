"""The time of a language model's rounds beside the server's latency.

    python -m regret_envs.benchmarks.speed.language_models

64 runs at concurrency 64 against a scripted server on a loopback port, in a process of its own, that takes
200 ms for an answer. T rounds cannot take less than T × 0.2 s; asked: at most 1.5 times that.
Needs the extra `llm` and aiohttp.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from multiprocessing.connection import Connection
from typing import Any

from regret_envs import simulate, streams
from regret_envs.agents.llm.agent import LanguageModel

LATENCY = 0.2
ANSWER = json.dumps({"A": 0.2, "B": 0.3, "C": 0.5})
COMPLETION = {
    "id": "x",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWER}}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
}


def serve(ready: Connection) -> None:
    """Answer every request after the latency, until the process is ended."""
    from aiohttp import web

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(LATENCY)
        return web.json_response(COMPLETION)

    async def start() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        ready.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(start())


def measure(port: int, horizon: int, num_runs: int, concurrency: int) -> float:
    """Seconds of play."""
    agent = LanguageModel("m", base_url=f"http://127.0.0.1:{port}/v1", concurrency=concurrency)
    world: Any = streams.Gaussian(3)
    begun = time.perf_counter()
    simulate(world, agent, horizon=horizon, num_runs=num_runs)
    return time.perf_counter() - begun


def main() -> None:
    """Print the time beside the least possible."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=20)
    parser.add_argument("--runs", type=int, default=64)
    arguments = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["REGRET_ENVS_CACHE"] = folder
        port, least = here.recv(), arguments.horizon * LATENCY
        measure(port, 1, 1, arguments.runs)  # imports, and whether the server takes formats
        seconds = measure(port, arguments.horizon, arguments.runs, arguments.runs)
    server.terminate()
    print(
        f"{arguments.runs} runs of {arguments.horizon} rounds: {seconds:.2f} s, "
        f"{seconds / least:.2f} times T × {LATENCY} s = {least:.1f} s (asked: 1.5)"
    )


if __name__ == "__main__":
    main()
