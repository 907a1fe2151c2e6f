"""An OpenAI-compatible server on a loopback port that answers as a script says.

In a test: `with ScriptedServer(script) as server: ... server.base_url`. As a process of its own, to be
killed: `python scripted_server.py PORT LOG DELAY`, which answers uniform and writes a line for every
request that it answers.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

Request = dict[str, Any]


@dataclass
class Reply:
    """What is sent back; `cut`: how many bytes of the body, before the connection is closed."""

    body: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    content_type: str = "application/json"
    cut: int | None = None


Script = Callable[[Request, int], Reply]


def says(text: str | None, *, refusal: str | None = None, finish: str = "stop", **reply: Any) -> Reply:
    """A chat completion."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return Reply(body, **reply)


def problem(status: int, message: str, *, code: str | None = None, **reply: Any) -> Reply:
    """An error as such servers put it."""
    return Reply({"error": {"message": message, "type": "error", "code": code}}, status, **reply)


def actions_of(request: Request) -> list[str]:
    """The actions' names, from the schema or, without one, from the prompt."""
    if "response_format" in request:
        return list(request["response_format"]["json_schema"]["schema"]["properties"])
    user = request["messages"][1]["content"]
    return re.search(r"actions: ([^.\n]*)\.", user)[1].split(", ")


def uniform(request: Request, number: int = 0) -> Reply:
    """A uniform policy."""
    names = actions_of(request)
    return says(json.dumps({name: 1 / len(names) for name in names}))


def hedge(request: Request, number: int = 0) -> Reply:
    """The policy of Hedge at its default step, from the losses in the plain prompt."""
    user = request["messages"][1]["content"]
    names = actions_of(request)
    lines = re.findall(r"(?:^Round \d+ losses|^Before round 1 the losses were): (.*)\.$", user, re.M)
    losses = np.array(
        [[float(dict(p.rsplit(" ", 1) for p in line.split(", "))[name]) for name in names] for line in lines]
    ).reshape(-1, len(names))
    horizon = int(re.search(r"There are (\d+) rounds", user)[1])
    scores = -np.sqrt(2 * np.log(len(names)) / horizon) * losses.sum(0)
    weights = np.exp(scores - scores.max())
    return says(json.dumps(dict(zip(names, (weights / weights.sum()).tolist(), strict=True))))


class ScriptedServer:
    """The server, in threads of this process; a context manager.

    Attributes:
        requests: the bodies of the POST requests, in order.
        headers: their headers.
        peak: the most of them in flight at a time.
    """

    def __init__(self, script: Script = uniform, *, models: list[str] | None = None, port: int = 0) -> None:
        self.script = script
        self.models = ["m"] if models is None else models
        self.requests: list[Request] = []
        self.headers: list[dict[str, str]] = []
        self.peak = self._flying = 0
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", port), _handler(self))
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def enter(self, request: Request, headers: dict[str, str]) -> int:
        """Count a request in; its number."""
        with self._lock:
            self.requests.append(request)
            self.headers.append(headers)
            self._flying += 1
            self.peak = max(self.peak, self._flying)
            return len(self.requests) - 1

    def leave(self) -> None:
        """Count a request out."""
        with self._lock:
            self._flying -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are part of the tests."""


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            if self.path != "/v1/models":
                self._send(problem(404, "no such page"))
                return
            models = [{"id": m, "object": "model", "created": 0, "owned_by": "x"} for m in server.models]
            self._send(Reply({"object": "list", "data": models}))

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions":
                self._send(problem(404, "no such page"))
                return
            number = server.enter(request, {name.lower(): value for name, value in self.headers.items()})
            try:
                reply = server.script(request, number)
                time.sleep(reply.delay)
            finally:
                server.leave()
            self._send(reply)

        def _send(self, reply: Reply) -> None:
            body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            data = body.encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(data)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data if reply.cut is None else data[: reply.cut])
            if reply.cut is not None:
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    return Handler


if __name__ == "__main__":
    log = open(sys.argv[2], "a", buffering=1)  # noqa: SIM115 - until the process is killed
    pause = float(sys.argv[3])

    def logged(request: Request, number: int) -> Reply:
        """Uniform, after a pause, with a line in the log."""
        time.sleep(pause)
        log.write(json.dumps([request["messages"], request.get("seed")]) + "\n")
        return uniform(request)

    with ScriptedServer(logged, port=int(sys.argv[1])):
        threading.Event().wait()
