"""Shared by agents with a step size: its default, its schedule, and the bound that follows."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.validation import non_negative


@dataclass(eq=False)
class SteppedAgent(Agent):
    """An agent with a step size η_t whose regret is at most A / η_T + B Σ_t η_t.

    Args:
        step_size: η in every round. None: sqrt(A / (B T)) with B for losses of range 2, as in [−1, 1];
            where the horizon T is unknown, and in any case with "anytime", sqrt(A / (B t)), t being
            the rounds seen (at least 1).

    Raises:
        ValueError: if `step_size` is negative, not finite or another word.
        TypeError: if it is neither a number nor a word.
    """

    step_size: float | Literal["anytime"] | None = None

    shares_bound: ClassVar[bool] = True
    _num_copies = 1

    def __post_init__(self) -> None:
        if isinstance(self.step_size, str):
            if self.step_size != "anytime":
                raise ValueError(f"step_size must be a number or 'anytime', got {self.step_size!r}")
        elif self.step_size is not None:
            non_negative("step_size", self.step_size)

    @abstractmethod
    def _bound_terms(self, num_actions: int, loss_range: float, shrinks: bool) -> tuple[float, float]:
        """A and B, for losses of range `loss_range` and a step that shrinks or does not."""

    def _default_scale(self, num_actions: int, shrinks: bool) -> float:
        """c, where the default step is c / √T or c / √t."""
        penalty, curvature = self._bound_terms(num_actions, 2.0, shrinks)
        return math.sqrt(penalty / curvature)

    def schedule(self, num_actions: int, horizon: int | None) -> tuple[float, bool]:
        """The step and False, or c and True where the step is c / √t."""
        if self.step_size is not None and self.step_size != "anytime":
            return self.step_size, False
        shrinks = self.step_size == "anytime" or horizon is None
        scale = self._num_copies * self._default_scale(num_actions, shrinks)
        return (scale, True) if shrinks or horizon is None else (scale / math.sqrt(horizon), False)

    def _begin(self, num_actions: int, horizon: int | None) -> None:
        self._t = 0
        self._scale, self._shrinks = self.schedule(num_actions, horizon)

    def _step(self) -> float:
        """η in the round after the `_t` rounds seen."""
        return self._scale / math.sqrt(max(self._t, 1)) if self._shrinks else self._scale

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """A / η_T + B Σ_t η_t; infinite at step 0."""
        if num_actions == 1:
            return 0.0
        scale, shrinks = self.schedule(num_actions, horizon)
        penalty, curvature = self._bound_terms(num_actions, loss_range, shrinks)
        if scale == 0:
            return math.inf
        seen = np.maximum(np.arange(horizon), 1)
        steps = scale / np.sqrt(seen) if shrinks else np.full(horizon, scale)
        return penalty / float(steps[-1]) + curvature * float(steps.sum())

    def as_copy(self, num_copies: int) -> Self:
        """A copy whose default step is `num_copies` times as large; an explicit step stays."""
        agent = copy.deepcopy(self)
        agent._num_copies = self._num_copies * num_copies
        return agent
