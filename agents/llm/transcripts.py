"""Transcripts: what was asked, said, played and lost, a file of JSON lines for each run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec


class TranscriptError(ValueError):
    """A file that is not a transcript; says which line."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One round of one run.

    Attributes:
        round: the round, from 1.
        messages: the conversation as it was last sent: system, user, and after a malformed answer that
            answer and what was wrong with it.
        answers: what the model said, each time it was asked.
        fallback: whether no answer could be used, so that uniform play took its place.
        policy: what was played, by the name that the model saw.
        losses: what it was shown afterwards, likewise: all losses, or that of the drawn action.
    """

    round: int
    messages: list[dict[str, str]]
    answers: list[str]
    fallback: bool
    policy: dict[str, float]
    losses: dict[str, float]


def append(path: Path, exchange: Exchange) -> None:
    """Write a round; round 1 begins the file anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = msgspec.json.encode(exchange) + b"\n"
    if exchange.round == 1:
        path.write_bytes(line)
    else:
        with path.open("ab") as file:
            file.write(line)


def read(path: str | os.PathLike[str]) -> list[Exchange]:
    """The rounds of a transcript, in order. Where a run that was killed played a round again, the last holds.

    Raises:
        TranscriptError: if a line is not a round; a torn last line is left out.
        OSError: if the file cannot be read.
    """
    rounds: dict[int, Any] = {}
    lines = Path(path).read_bytes().split(b"\n")
    torn = lines.pop()
    for number, line in enumerate(lines, start=1):
        try:
            exchange = msgspec.json.decode(line, type=Exchange)
        except msgspec.MsgspecError as error:
            raise TranscriptError(f"{path}, line {number} is not a round of a transcript: {error}") from None
        rounds[exchange.round] = exchange
    if not rounds:
        raise TranscriptError(f"{path} holds no transcript" + (" but an unfinished line" if torn else ""))
    return [rounds[number] for number in sorted(rounds)]
