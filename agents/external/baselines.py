"""Agents without a step size: uniform play, a fixed policy, follow the leader."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regret_envs.agents.base import Agent
from regret_envs.arrays import FloatArray
from regret_envs.metrics import off_simplex


@dataclass(eq=False)
class Uniform(Agent):
    """The uniform policy in every round. No guarantee: in general its regret grows linearly."""

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Nothing to learn."""
        self._policies = np.full((num_actions, num_runs), 1.0 / num_actions)

    def act(self) -> FloatArray:
        """1/d everywhere."""
        return self._policies.T

    def observe(self, losses: FloatArray) -> None:
        """Nothing to learn."""


@dataclass(eq=False)
class FixedPolicy(Agent):
    """One policy in every round, whatever the losses.

    Args:
        policy: shape (num_actions,), on the simplex.

    Raises:
        ValueError: if the policy is not one row on the simplex.
    """

    policy: npt.ArrayLike

    def __post_init__(self) -> None:
        policy = np.asarray(self.policy, dtype=np.float64)
        if policy.ndim != 1 or policy.size == 0 or off_simplex(policy):
            raise ValueError(f"policy must be one row on the simplex, got {self.policy!r}")

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """A policy over a different number of actions."""
        d = np.size(self.policy)
        return None if num_actions == d else f"the policy has {d} actions, the task {num_actions}"

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Repeat the policy for every run.

        Raises:
            ValueError: if it is over another number of actions.
        """
        if reason := self.unsupported(num_actions, horizon=horizon):
            raise ValueError(reason)
        policy = np.asarray(self.policy, dtype=np.float64)
        self._policies = np.repeat(policy[:, None], num_runs, axis=1)

    def act(self) -> FloatArray:
        """The policy."""
        return self._policies.T

    def observe(self, losses: FloatArray) -> None:
        """Nothing to learn."""


@dataclass(eq=False)
class FollowTheLeader(Agent):
    """Follow the leader: all probability on the action with the least loss so far (fictitious play).

    Ties go to the lowest index; the first policy is uniform. No guarantee: the alternating stream
    makes its regret linear.
    """

    reference = "Brown 1951"

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        self._cumulative = np.zeros((num_actions, num_runs))
        self._policies = np.full((num_actions, num_runs), 1.0 / num_actions)

    def act(self) -> FloatArray:
        """One-hot at argmin Σ ℓ."""
        return self._policies.T

    def observe(self, losses: FloatArray) -> None:
        """Add up the losses and find the leader."""
        self._cumulative += losses.T
        leader = self._cumulative.argmin(axis=0)
        self._policies = (np.arange(len(self._cumulative))[:, None] == leader).astype(np.float64)
