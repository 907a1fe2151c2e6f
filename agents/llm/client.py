"""Asking an OpenAI-compatible server: concurrently, patiently, and never twice for the same answer."""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
import random
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from regret_envs.agents.llm.cache import Answer, AnswerCache, cache_folder, request_key
from regret_envs.agents.llm.credentials import Trust, key_for
from regret_envs.agents.llm.places import Places
from regret_envs.agents.llm.replies import FailedError, RefusedError, read_completion, status_error

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before the first retry, doubled for every further one up to the second number."""

LONGEST_RETRY_AFTER = 600.0
FIRST_CONTACT_RETRIES = 3
"""A server that has not answered lately is tried so many times more: its address may be wrong."""

_NO_CONTENT_FORMAT = (400, 404, 415, 422, 501)
_PLAIN_HEADERS = frozenset(
    b"accept accept-encoding connection content-length content-type host transfer-encoding user-agent".split()
)


class LanguageModelError(RuntimeError):
    """A server that cannot be used, or a request that it refuses; one line that says what to do."""


class GivenUpError(LanguageModelError):
    """A request that was not made, since another one of its round has failed for good."""


@dataclass(frozen=True)
class Server:
    """Where models are asked, and how patiently.

    Args:
        base_url: the address, up to /v1.
        model: the model's name there.
        api_key_env: the environment variable that holds the key, or None.
        trust: the trust in the spec that names the server.
        timeout: seconds for one request.
        max_retries: how often a request that failed is made again.
        concurrency: requests in flight at a time, in all processes of this machine that share the cache
            folder.
    """

    base_url: str
    model: str
    api_key_env: str | None
    trust: Trust
    timeout: float
    max_retries: int
    concurrency: int


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, run on this process's own event loop beside the caller's."""
    future = asyncio.run_coroutine_threadsafe(work, _loop(os.getpid()))
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


@functools.cache
def _loop(pid: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="regret-envs language models").start()
    return loop


def client_of(server: Server) -> Client:
    """The process's one client of a server."""
    return _client_of(server, cache_folder(), os.getpid())


@functools.cache
def _client_of(server: Server, folder: Path, pid: int) -> Client:
    client = Client(server, folder)
    atexit.register(lambda: run(client.close()))
    return client


class Client:
    """Asks one server for answers of one model. Its methods run on the event loop of `run`.

    Args:
        server: where and how.
        folder: of the cache, and of the locks that bound the requests in flight.
    """

    def __init__(self, server: Server, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._places = Places(folder, server.base_url, server.concurrency)
        self._probe = asyncio.Lock()
        self._takes_schema: bool | None = None
        self._reached = self._places.answered_lately
        self._not_before = 0.0
        self._models: Sequence[str] | None = None

    @functools.cached_property
    def _cache(self) -> AnswerCache:
        return AnswerCache(self._folder)

    @functools.cached_property
    def _key(self) -> str | None:
        return key_for(self._server.base_url, self._server.api_key_env, self._server.trust)

    @functools.cached_property
    def _openai(self) -> AsyncOpenAI:
        import openai

        key = self._key

        async def only_ours(request: Any) -> None:
            # Whatever the environment makes the client add (keys, organizations), this is what leaves.
            for name in {name.lower() for name, _ in request.headers.raw}:
                if name not in _PLAIN_HEADERS and not name.startswith(b"x-stainless-"):
                    del request.headers[name.decode("ascii", "replace")]
            if key is not None:
                request.headers["Authorization"] = f"Bearer {key}"

        http = openai.DefaultAioHttpClient(
            follow_redirects=False, event_hooks={"request": [only_ours]}, timeout=self._server.timeout
        )
        return openai.AsyncOpenAI(
            base_url=self._server.base_url,
            api_key=key or "none",
            max_retries=0,
            timeout=self._server.timeout,
            http_client=http,
        )

    async def close(self) -> None:
        """Close the connections; the client is not used any more."""
        if "_openai" in self.__dict__:
            await self._openai.close()

    async def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        settings: Mapping[str, Any],
        schema: Mapping[str, Any],
        sample: int,
        stop: asyncio.Event,
    ) -> Answer:
        """The model's answer, from the cache where it is there.

        Args:
            messages: the conversation so far.
            settings: temperature and the like, as the API names them.
            schema: the JSON schema of the answer, for servers that take one.
            sample: the number of the sample: equal requests of unequal samples are asked one by one.
            stop: when it is set, no further request is made.

        Raises:
            LanguageModelError: if there is no answer after all retries, the server refuses, or the agent may
                not connect and the answer is not in the cache.
            CredentialsError: if the key is missing or must not be sent there.
            CacheError: if the cache cannot be used.
        """
        key = request_key(
            server=self._server.base_url,
            model=self._server.model,
            settings=settings,
            schema=schema,
            messages=messages,
            sample=sample,
        )
        if (known := self._cache.get(key)) is not None:
            return known
        if self._server.trust == "offline":
            raise LanguageModelError(
                f"the language model {self._server.model} was not typed on the command line and makes no "
                "request: --allow-llm lets the specs of suite files connect"
            )
        request = {"model": self._server.model, "messages": messages, **settings}
        return self._cache.put(key, await self._answered(request, schema, stop))

    async def _answered(
        self, request: dict[str, Any], schema: Mapping[str, Any], stop: asyncio.Event
    ) -> Answer:
        """Ask with the schema as the response's format, and without it where the server refuses that."""
        format_ = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema},
        }
        if self._takes_schema is None:
            # One request finds out for all.
            async with self._probe:
                if self._takes_schema is None:
                    try:
                        answer = await self._patiently({**request, "response_format": format_}, stop)
                    except RefusedError as refused:
                        if refused.status not in _NO_CONTENT_FORMAT:
                            raise await self._explained(refused) from None
                    else:
                        self._takes_schema = True
                        return answer
                    answer = await self._or_explained(request, stop)
                    self._takes_schema = False
                    return answer
        if self._takes_schema:
            request = {**request, "response_format": format_}
        return await self._or_explained(request, stop)

    async def _or_explained(self, request: dict[str, Any], stop: asyncio.Event) -> Answer:
        try:
            return await self._patiently(request, stop)
        except RefusedError as refused:
            raise await self._explained(refused) from None

    async def _patiently(self, request: dict[str, Any], stop: asyncio.Event) -> Answer:
        """One answer, after as many retries as it takes and is allowed."""
        retries = 0
        while True:
            await asyncio.sleep(self._not_before - time.monotonic())
            try:
                async with self._places.take():
                    if stop.is_set():
                        raise GivenUpError("another request of the round has failed")
                    begun = time.perf_counter()
                    answer = await self._once(request)
                    return msgspec.structs.replace(
                        answer, seconds=time.perf_counter() - begun, retries=retries
                    )
            except FailedError as failed:
                most = self._server.max_retries
                if not self._reached:
                    most = min(most, FIRST_CONTACT_RETRIES)
                if retries >= most or failed.wait > LONGEST_RETRY_AFTER:
                    todo = "" if self._reached else "; is the server running, and base_url its address?"
                    if failed.wait > LONGEST_RETRY_AFTER:
                        todo = f"; it asks to wait {failed.wait:.0f} s: run again later to go on"
                    raise LanguageModelError(
                        f"{self._server.base_url} gave no answer in {retries + 1} tries: {failed}{todo}"
                    ) from None
                if failed.status >= 500 and retries == 0 and await self._lacks_model():
                    raise LanguageModelError(f"{failed}; {await self._model_line()}") from None
                if failed.wait > 0:
                    # What one request is told, all of them keep to.
                    self._not_before = max(self._not_before, time.monotonic() + failed.wait)
                else:
                    wait = min(FIRST_WAIT * 2**retries, LONGEST_WAIT)
                    await asyncio.sleep(wait * random.uniform(0.75, 1.25))
                retries += 1

    async def _once(self, request: dict[str, Any]) -> Answer:
        import openai

        connection = self._openai  # errors about keys are raised here
        try:
            async with asyncio.timeout(self._server.timeout):
                # The client's way to any endpoint: a JSON body is returned as it is, anything else as text.
                body: object = await connection.post("/chat/completions", cast_to=object, body=request)
        except (TimeoutError, openai.APITimeoutError) as error:
            # aiohttp's transport makes a timeout of a refused connection, with the reason as its cause.
            why = str(error.__cause__ or "") or f"no answer within {self._server.timeout:g} s"
            raise FailedError(self._clean(why)) from None
        except openai.APIStatusError as error:
            self._note_answer()
            failure = status_error(error)
            failure.args = (self._clean(str(failure)),)
            raise failure from None
        except openai.APIConnectionError as error:
            raise FailedError(self._clean(f"{error} {error.__cause__ or ''}")) from None
        except ValueError:
            raise FailedError("a body that is not JSON, or only a part of it") from None
        self._note_answer()
        try:
            answer = read_completion(body)
        except ValueError as error:
            raise LanguageModelError(
                f"{self._server.base_url} answers with {self._clean(str(error))}: base_url is the address of "
                "an OpenAI-compatible server, up to /v1"
            ) from None
        return msgspec.structs.replace(
            answer,
            text=self._without_key(answer.text),
            refusal=None if answer.refusal is None else self._without_key(answer.refusal),
        )

    def _note_answer(self) -> None:
        self._reached = True
        self._places.note_answer()

    async def _explained(self, refused: RefusedError) -> LanguageModelError:
        """What to do about a refusal."""
        server, where = self._server, self._server.base_url
        if refused.status in (401, 403):
            todo = (
                f"does it take the key in {server.api_key_env or 'OPENAI_API_KEY'}?"
                if self._key
                else "it wants a key: add api_key_env=VARIABLE, a variable that holds it, to the spec"
            )
            return LanguageModelError(f"{where} refuses ({refused}): {todo}")
        if 300 <= refused.status < 400:
            return LanguageModelError(f"{where} answers elsewhere ({refused}): give that address as base_url")
        if refused.status == 404 or await self._lacks_model():
            return LanguageModelError(f"{where} refuses ({refused}); {await self._model_line()}")
        return LanguageModelError(f"{where} refuses the request ({refused})")

    async def _lacks_model(self) -> bool:
        names = await self._model_names()
        return bool(names) and self._server.model not in names

    async def _model_line(self) -> str:
        names = await self._model_names()
        if not names:
            return "it lists no models: is base_url the address of an OpenAI-compatible server, up to /v1?"
        shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
        return f"model={self._server.model} was asked for, and the server has {shown}"

    async def _model_names(self) -> Sequence[str]:
        if self._models is None:
            try:
                async with asyncio.timeout(min(self._server.timeout, 10)):
                    found = await self._openai.models.list()
                self._models = [self._clean(str(model.id)) for model in found.data]
            except Exception:  # whatever answers there may not be such a server: no list then
                return []
        return self._models

    def _without_key(self, text: str) -> str:
        """A server's text without the key, which it may echo."""
        return text.replace(self._key, "…") if self._key else text

    def _clean(self, text: str) -> str:
        """A server's error without the key, as one line and not a page."""
        line = " ".join(self._without_key(text).split())
        return line if len(line) <= 300 else f"{line[:300]}…"
