"""Hedge, which is follow-the-regularised-leader with the entropy, which is smoothed fictitious play."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.worlds import FloatArray


def softmax(logits: FloatArray) -> FloatArray:
    """exp(z) / Σ exp(z) along the first axis, overflow-safe; overwrites and returns `logits`."""
    logits -= np.maximum.reduce(logits, axis=0)
    np.exp(logits, out=logits)
    logits /= np.add.reduce(logits, axis=0)
    return logits


@dataclass(eq=False)
class Hedge(Agent):
    """Hedge (entropy-FTRL): π_{t+1} = softmax(−η Σ_{s≤t} ℓ_s).

    Args:
        step_size: η. None: sqrt(2 ln d / T), or sqrt(2 ln d / t) where the horizon T is unknown;
            "anytime": sqrt(2 ln d / t) in any case. Right for losses of range 2, as in [−1, 1].

    Guarantee: R_T ≤ ln d / η + η ρ² T / 8 for losses of range ρ, so sqrt(T ln d / 2) · ρ at the best η
    (Freund and Schapire 1997; the constant from Cesa-Bianchi and Lugosi 2006, Theorem 2.2).
    """

    step_size: float | Literal["anytime"] | None = None

    reference = "Freund and Schapire 1997"
    guarantee = "external regret ≤ ln d / η + η ρ² T / 8"
    _num_copies = 1

    def __post_init__(self) -> None:
        if isinstance(self.step_size, str):
            if self.step_size != "anytime":
                raise ValueError(f"step_size must be a number or 'anytime', got {self.step_size!r}")
        elif self.step_size is not None and not (np.isfinite(self.step_size) and self.step_size >= 0):
            raise ValueError(f"step_size must be finite and not negative, got {self.step_size!r}")

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        self._t = 0
        self._cumulative = np.zeros((num_actions, num_runs))
        # η in every round, or η √t where it shrinks.
        scale = self._num_copies * np.sqrt(2 * np.log(num_actions))
        self._shrinks = self.step_size == "anytime" or (self.step_size is None and horizon is None)
        if isinstance(self.step_size, str) or self.step_size is None:
            self._eta = scale if self._shrinks or horizon is None else scale / np.sqrt(horizon)
        else:
            self._eta = self.step_size

    def act(self) -> FloatArray:
        """softmax(−η Σ ℓ)."""
        eta = self._eta / np.sqrt(max(self._t, 1)) if self._shrinks else self._eta
        return softmax(self._cumulative * -eta).T

    def observe(self, losses: FloatArray) -> None:
        """Add up the losses."""
        self._t += 1
        self._cumulative += losses.T

    def as_copy(self, num_copies: int) -> Hedge:
        """A copy whose default step is `num_copies` times as large; an explicit step stays."""
        agent = copy.deepcopy(self)
        agent._num_copies = num_copies
        return agent
