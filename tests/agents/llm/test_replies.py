"""What servers reply."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from regret_envs.agents.llm.replies import read_completion, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
    ],
)
def test_how_long_to_wait(headers, seconds):
    assert retry_after(headers) == seconds


def test_how_long_to_wait_as_a_date():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 95 < retry_after({"retry-after": date}) <= 100


def test_a_completion_needs_little():
    answer = read_completion({"choices": [{"message": {"content": "yes"}}]})
    assert (answer.text, answer.prompt_tokens, answer.finish_reason) == ("yes", 0, "stop")


@pytest.mark.parametrize(
    "body",
    [{}, {"choices": []}, {"choices": None}, {"choices": [{"message": {"content": 3}}]}, [], None, "x"],
)
def test_what_is_no_completion(body):
    with pytest.raises(ValueError, match=r"not (with )?a chat completion"):
        read_completion(body)
