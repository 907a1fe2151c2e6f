"""What a server replies: completions, and failures that pass or stay."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import msgspec

from regret_envs.agents.llm.cache import Answer

if TYPE_CHECKING:
    from openai import APIStatusError


class FailedError(Exception):
    """A try that may be repeated.

    Attributes:
        status: the HTTP status, or 0 where there was no response.
        wait: the seconds that the server asks to wait; 0 where it does not.
    """

    def __init__(self, said: str, status: int = 0, wait: float = 0.0) -> None:
        super().__init__(said)
        self.status = status
        self.wait = wait


class RefusedError(Exception):
    """A request that would be refused again, with its HTTP status."""

    def __init__(self, said: str, status: int) -> None:
        super().__init__(said)
        self.status = status


def status_error(error: APIStatusError) -> FailedError | RefusedError:
    """An HTTP error as one that passes (429, 5xx, …) or stays."""
    status = error.status_code
    body = error.body if isinstance(error.body, dict) else {}
    said = f"{status}: {body.get('message') or error.message}"
    quota = body.get("code") == "insufficient_quota"
    if (status in (408, 409, 429) and not quota) or (status >= 500 and status != 501):
        return FailedError(said, status, retry_after(error.response.headers))
    return RefusedError(said, status)


def retry_after(headers: Mapping[str, str]) -> float:
    """The seconds that a response asks to wait; 0 where it does not."""
    seconds = 0.0
    said = headers.get("retry-after", "")
    if milliseconds := headers.get("retry-after-ms"):
        with contextlib.suppress(ValueError):
            seconds = float(milliseconds) / 1000
    else:
        try:
            seconds = float(said)
        except ValueError:
            with contextlib.suppress(ValueError, TypeError):
                seconds = (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds()
    return 0.0 if math.isnan(seconds) else max(seconds, 0.0)


def read_completion(body: object) -> Answer:
    """The answer in a chat completion, with what it used.

    Raises:
        ValueError: if the body is something else; says what.
    """
    try:
        found = msgspec.convert(body, _Completion)
        choice = found.choices[0]
    except (msgspec.ValidationError, IndexError):
        if isinstance(body, str):
            raise ValueError(f"text and not with a chat completion ({body[:60]!r})") from None
        raise ValueError("JSON that is not a chat completion") from None
    usage = found.usage or _Usage()
    return Answer(
        text=choice.message.content or "",
        finish_reason=choice.finish_reason or "stop",
        refusal=choice.message.refusal,
        prompt_tokens=max(usage.prompt_tokens, 0),
        completion_tokens=max(usage.completion_tokens, 0),
    )


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    """What is read of a chat completion."""

    choices: list[_Choice]
    usage: _Usage | None = None
