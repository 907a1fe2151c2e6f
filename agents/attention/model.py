"""What the attention models have in common: a module to train, and an agent to play.

Every model is both. As a `torch.nn.Module`, `forward` maps whole loss sequences to policies, with
gradients. As an `Agent`, it plays round by round, in eval mode and without gradients.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regret_envs.agents.base import Agent
from regret_envs.arrays import FloatArray


class AttentionModel(nn.Module, Agent):
    """Policies from the losses of the rounds before, by attention.

    Subclasses write `forward` (whole sequences, for training) and `begin`, `policy` and `step`
    (round by round); the two ways give the same policies.

    Attributes:
        num_actions: d, fixed by the parameters.
    """

    num_actions: int

    @abstractmethod
    def forward(self, losses: Tensor) -> Tensor:
        """Policies of all rounds.

        Args:
            losses: shape (num_runs, horizon, num_actions).

        Returns:
            The same shape; the policy of round t depends on the losses of rounds before t alone.
        """

    @abstractmethod
    def begin(self, num_runs: int, horizon: int | None) -> Any:
        """The state before round 1."""

    @abstractmethod
    def policy(self, state: Any) -> Tensor:
        """The policies of the round, shape (num_runs, num_actions)."""

    @abstractmethod
    def step(self, state: Any, losses: Tensor) -> Any:
        """The state after a round's losses, shape (num_runs, num_actions)."""

    @property
    def _parameter(self) -> Tensor:
        return next(self.parameters())

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """Another number of actions than the parameters are made for cannot be played."""
        if num_actions == self.num_actions:
            return None
        return f"{self!r} plays {self.num_actions} actions and was asked to play {num_actions}"

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin to play; nothing is random.

        Raises:
            ValueError: if the model cannot play so many actions or rounds.
        """
        reason = self.unsupported(num_actions, horizon=horizon)
        if reason is not None:
            raise ValueError(reason)
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self.eval()
        with torch.no_grad():
            self._state = self.begin(num_runs, horizon)

    def act(self) -> FloatArray:
        """Policies as float64, shape (num_runs, num_actions), whatever the device and precision."""
        with torch.no_grad():
            policies: FloatArray = self.policy(self._state).cpu().numpy().astype(np.float64)
        if self._parameter.dtype != torch.float64:
            policies /= policies.sum(-1, keepdims=True)
        return policies

    def observe(self, losses: FloatArray) -> None:
        """Take in a round's losses."""
        like = self._parameter
        with torch.no_grad():
            tensor = torch.tensor(np.asarray(losses), dtype=like.dtype, device=like.device)
            self._state = self.step(self._state, tensor)


def sums_before(terms: Tensor) -> Tensor:
    """Σ_{s<t} terms_s along axis 1: what is known before every round, in one pass over the rounds."""
    return torch.cat([torch.zeros_like(terms[:, :1]), terms[:, :-1].cumsum(1)], 1)


class HorizonFactor(nn.Module):
    """(T / T_0)^exponent, the exponent learned from 0 on; or 1 where the horizon is not an input.

    Args:
        reference: T_0, within the horizons of training, or None.
    """

    def __init__(self, reference: int | None) -> None:
        super().__init__()
        self.reference = reference
        self.exponent = None if reference is None else nn.Parameter(torch.zeros(()))

    def forward(self, horizon: int | None) -> Tensor | float:
        """The factor at a horizon.

        Raises:
            ValueError: if the horizon is an input and unknown.
        """
        if self.reference is None or self.exponent is None:
            return 1.0
        if horizon is None:
            raise ValueError("the model takes the horizon as an input, and it is unknown")
        return torch.exp(self.exponent * math.log(horizon / self.reference))


def one_of(name: str, value: str, known: Sequence[str]) -> None:
    """Raise `ValueError` if a setting is none of the known ones."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
