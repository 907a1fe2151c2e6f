"""What an agent that asks somebody else has used, and what it can tell of that."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from regret_envs.worlds import World

MOST_EXAMPLES = 3


class Usage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What play has used.

    Attributes:
        decisions: policies that were asked for, one for each round and run.
        requests: requests that were answered, now or earlier (from the cache).
        retries: requests before them that failed.
        prompt_tokens, completion_tokens: tokens of the requests and of the answers.
        seconds: the sum of what every answer took.
        malformed: answers from which no policy could be read.
        fallbacks: decisions that uniform play took the place of.
        cost: in the unit of the prices given; None without prices.
        examples: the first answers that led to a fallback, and what was wrong, cut short.
    """

    decisions: int = 0
    requests: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    malformed: int = 0
    fallbacks: int = 0
    cost: float | None = None
    examples: tuple[str, ...] = ()

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        costs = [usage.cost for usage in (self, other) if usage.cost is not None]
        return Usage(
            decisions=self.decisions + other.decisions,
            requests=self.requests + other.requests,
            retries=self.retries + other.retries,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            seconds=self.seconds + other.seconds,
            malformed=self.malformed + other.malformed,
            fallbacks=self.fallbacks + other.fallbacks,
            cost=sum(costs) if costs else None,
            examples=(self.examples + other.examples)[:MOST_EXAMPLES],
        )


class Expense(msgspec.Struct, frozen=True):
    """What play will take at most: requests, without those that are made again, and about how many tokens."""

    requests: int
    tokens: int


@runtime_checkable
class Asking(Protocol):
    """An agent that asks somebody else in every round, at a price."""

    def describe(self, world: World, seat: int) -> None:
        """See `Agent.describe`."""

    def expense(self, num_actions: int, *, horizon: int, num_runs: int) -> Expense:
        """What playing will take."""

    def prepare(self, task: str, *, hides_losses: bool, transcripts: Path | None = None) -> None:
        """Told before anything else what is played.

        Args:
            task: the task's id; answers to equal requests of different tasks are different samples.
            hides_losses: whether only the drawn action's loss is shown (bandit feedback).
            transcripts: a folder for what is asked and answered, a file for each run; None: none.
        """
