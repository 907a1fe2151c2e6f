"""Agents of online policy evaluation: they watch a trajectory and estimate the value of states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.rooms.policy_evaluation.markov import Context, check_discount
from regret_envs.rooms.policy_evaluation.softmax_td import SoftmaxTransformer
from regret_envs.validation import non_negative


class ValueAgent(ABC):
    """An agent that estimates values from one trajectory: subclass it and write three methods.

    In every step it is shown the state's features and the reward that led there (`observe`), and asked for
    values (`values`).

    Attributes:
        reference: the paper that the agent is from.
    """

    reference: ClassVar[str] = ""

    @abstractmethod
    def reset(self, num_features: int, *, discount: float, num_runs: int) -> None:
        """Begin `num_runs` runs and forget the ones before.

        Args:
            num_features: d.
            discount: γ.
            num_runs: independent runs.

        Raises:
            ValueError: if γ is outside [0, 1), or the agent cannot read that many features.
        """

    @abstractmethod
    def observe(self, features: FloatArray, rewards: FloatArray) -> None:
        """Take in x(S_k), shape (num_runs, num_features), and R_k, shape (num_runs,): for k = 0 it is 0."""

    @abstractmethod
    def values(self, features: FloatArray) -> FloatArray:
        """Estimates of v at states with these features: (num_runs, m, num_features) to (num_runs, m)."""


@dataclass(eq=False)
class ZeroValue(ValueAgent):
    """The value of everything is 0: what learning has to beat."""

    def reset(self, num_features: int, *, discount: float, num_runs: int) -> None:
        """Nothing to begin."""
        check_discount(discount)

    def observe(self, features: FloatArray, rewards: FloatArray) -> None:
        """Nothing to learn."""

    def values(self, features: FloatArray) -> FloatArray:
        """Zeros."""
        return np.zeros(features.shape[:2])


@dataclass(eq=False)
class TD0(ValueAgent):
    """TD(0) with linear values: w ← w + α δ_k x(S_{k−1}), δ_k = R_k + γ ⟨w, x(S_k)⟩ − ⟨w, x(S_{k−1})⟩.

    Args:
        step_size: α.
    """

    step_size: float = 0.2

    reference = "Sutton 1988"

    def __post_init__(self) -> None:
        non_negative("step_size", self.step_size)

    def reset(self, num_features: int, *, discount: float, num_runs: int) -> None:
        """Start from w = 0."""
        self._discount = check_discount(discount)
        self._weights = np.zeros((num_runs, num_features))
        self._last: FloatArray | None = None

    def observe(self, features: FloatArray, rewards: FloatArray) -> None:
        """One step of TD(0)."""
        if self._last is not None:
            change = self._discount * features - self._last
            errors = rewards + (self._weights * change).sum(1)
            self._weights += self.step_size * errors[:, None] * self._last
        self._last = np.array(features)

    def values(self, features: FloatArray) -> FloatArray:
        """⟨w, x⟩."""
        return (features @ self._weights[..., None])[..., 0]


@dataclass(eq=False)
class LSTD(ValueAgent):
    """Least-squares TD: w = (ε I + Σ_k x(S_{k−1}) (x(S_{k−1}) − γ x(S_k))ᵀ)⁻¹ Σ_k R_k x(S_{k−1}).

    With one-hot features, or as many linearly independent features as states, it is certainty equivalence (as
    ε → 0).

    Args:
        ridge: ε, which makes up for states that were not visited yet.

    Raises:
        ValueError: if ε is not positive.
    """

    ridge: float = 1e-6

    reference = "Bradtke and Barto 1996; Boyan 2002"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.ridge) and self.ridge > 0):
            raise ValueError(f"ridge must be positive and finite, got {self.ridge!r}")

    def reset(self, num_features: int, *, discount: float, num_runs: int) -> None:
        """Start from sums of nothing."""
        self._discount = check_discount(discount)
        self._matrix = np.tile(self.ridge * np.eye(num_features), (num_runs, 1, 1))
        self._vector = np.zeros((num_runs, num_features, 1))
        self._last: FloatArray | None = None

    def observe(self, features: FloatArray, rewards: FloatArray) -> None:
        """Add up."""
        if self._last is not None:
            self._matrix += self._last[:, :, None] * (self._last - self._discount * features)[:, None]
            self._vector[..., 0] += rewards[:, None] * self._last
        self._last = np.array(features)

    def values(self, features: FloatArray) -> FloatArray:
        """⟨w, x⟩."""
        return (features @ np.linalg.solve(self._matrix, self._vector))[..., 0]


@dataclass(eq=False)
class InContextTransformer(ValueAgent):
    """A softmax Transformer with the trajectory so far in its context. Its parameters never change.

    Args:
        transformer: the parameters, trained or constructed.
    """

    transformer: SoftmaxTransformer

    reference = "arXiv 2605.07333"

    def reset(self, num_features: int, *, discount: float, num_runs: int) -> None:
        """Start from an empty context."""
        if num_features != self.transformer.num_features:
            raise ValueError(
                f"the Transformer reads {self.transformer.num_features} features a state, got {num_features}"
            )
        self._discount = check_discount(discount)
        self._features: list[FloatArray] = []
        self._rewards: list[FloatArray] = []

    def observe(self, features: FloatArray, rewards: FloatArray) -> None:
        """Append to the context."""
        self._features.append(np.array(features))
        self._rewards.append(np.array(rewards))

    def values(self, features: FloatArray) -> FloatArray:
        """The value row at query columns; 0 before the first transition."""
        if len(self._features) < 2:
            return np.zeros(features.shape[:2])
        context = Context(np.stack(self._features, axis=1), np.stack(self._rewards[1:], axis=1))
        layers = self.transformer.layer_values(context, discount=self._discount, queries=features)
        return layers[-1, :, -features.shape[1] :]
