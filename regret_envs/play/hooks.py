"""What a seat asks of an agent, and what it offers beyond the losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.feedback.channels import Feedback, unfit
from regret_envs.worlds import World


@runtime_checkable
class AgentLike(Protocol):
    """What a seat asks of an agent, perhaps with the methods of `Hooks`; see `regret_envs.agents.Agent`."""

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin `num_runs` runs."""

    def act(self) -> FloatArray:
        """Policies, shape (num_runs, num_actions)."""
        ...

    def observe(self, losses: FloatArray) -> None:
        """Losses, shape (num_runs, num_actions)."""


class Hooks:
    """What a seat offers beyond the losses, for agents that can use it: by default they ignore it."""

    def describe(self, world: World, seat: int) -> None:
        """Learn which world is played, and from which seat; called after `reset`, before round 1.

        Args:
            world: the stream or game: its payoffs, its numbers of actions, the range of its losses.
            seat: the agent's player, 0 where it faces a stream alone.
        """

    def observe_start(self, losses: FloatArray) -> None:
        """Observe the starting losses, before round 1; by default the agent acts, to no effect, and observes.

        Args:
            losses: shape (num_runs, num_actions).
        """

    def watch(self, policies: Sequence[FloatArray]) -> None:
        """See what every seat played; called at the end of each round, after `observe` if losses arrived.

        Args:
            policies: one array (num_runs, num_actions of the player) per player, read-only. Where actions
                are drawn (bandit feedback), the drawn ones as unit vectors.
        """


def overrides(agent: object, hook: str) -> bool:
    """Whether an agent has its own method of that name in `Hooks`."""
    method = getattr(agent, hook, None)
    return method is not None and getattr(method, "__func__", None) is not getattr(Hooks, hook)


def has_hooks(agent: object) -> bool:
    """Whether an agent uses `Hooks`, so that it needs a seat of its own."""
    return overrides(agent, "describe") or overrides(agent, "watch")


def misfit(agent: Any, num_actions: int, horizon: int | None, layers: Sequence[Feedback]) -> str | None:
    """Why `agent` cannot play such a seat, or None if it can."""
    unsupported = getattr(agent, "unsupported", None)
    return unfit(agent, layers) or (unsupported(num_actions, horizon=horizon) if unsupported else None)
