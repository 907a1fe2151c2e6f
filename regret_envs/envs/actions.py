"""Maps from the output of a reinforcement-learning policy to the simplex.

| `action_mode` | action space | policy π of an action x |
|---|---|---|
| `softmax` (default) | Box [−1, 1]^d | softmax(logit_scale · x) |
| `normalize` | Box [0, 1]^d | max(x, 0) / Σ max(x, 0); uniform if that is all zeros |
| `project` | Box [0, 1]^d | the nearest point of the simplex |
| `strict` | Simplex(d) | x itself; off the simplex is an error |
| `discrete` | Discrete(d) | all mass on action x |

Networks seldom emit distributions: PPO on a box emits all zeros about one time in twenty, hence the
rule for zeros. With a logit scale of 1 no probability of three actions could exceed 0.79, hence 10.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, Space

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.envs.spaces import Simplex
from regret_envs.metrics import off_simplex
from regret_envs.names import lookup
from regret_envs.simplex import project_to_simplex, softmax

ActionMode = Literal["softmax", "normalize", "project", "strict", "discrete"]


class ActionError(ValueError):
    """An action that the environment cannot play; the message says whose it is and what to send instead."""


class ActionMap:
    """Maps batches of actions to policies.

    Args:
        num_actions: d.
        mode: one of the table above.
        logit_scale: of mode "softmax".

    Attributes:
        space: the action space of one run.

    Raises:
        UnknownNameError: if there is no such mode; lists the near ones.
        ValueError: if the scale is not positive and finite.
    """

    def __init__(self, num_actions: int, mode: ActionMode = "softmax", *, logit_scale: float = 10.0) -> None:
        lookup("action_mode", mode, dict.fromkeys(get_args(ActionMode)))
        if not (np.isfinite(logit_scale) and logit_scale > 0):
            raise ValueError(f"logit_scale must be positive and finite, got {logit_scale!r}")
        self.num_actions = num_actions
        self.mode = mode
        self.logit_scale = logit_scale
        self.space: Space[Any]
        if mode == "discrete":
            self.space = Discrete(num_actions)
        elif mode == "strict":
            self.space = Simplex(num_actions)
        else:
            self.space = Box(-1.0 if mode == "softmax" else 0.0, 1.0, (num_actions,), np.float32)
        self._unit_vectors = np.eye(num_actions if mode == "discrete" else 0)

    def __call__(self, actions: npt.ArrayLike, *, who: str) -> FloatArray:
        """The policies of a batch of actions.

        Args:
            actions: (num_runs, num_actions), or int (num_runs,) in mode "discrete".
            who: whose actions they are, for errors.

        Returns:
            (num_runs, num_actions), rows on the simplex.

        Raises:
            ActionError: for a wrong shape, NaN or infinity, a row off the simplex in mode "strict", or
                an action that does not exist in mode "discrete".
        """
        d = self.num_actions
        if self.mode == "discrete":
            return self._unit_vectors.take(self._indices(actions, who), 1).T
        try:
            x = np.asarray(actions, dtype=np.float64)
        except (TypeError, ValueError):
            raise ActionError(f"the action of {who} must be {d} numbers, got {actions!r}") from None
        if x.ndim != 2 or x.shape[1] != d:
            raise ActionError(
                f"the action of {who} has shape {x.shape[1:]}: action_mode={self.mode!r} takes {d} numbers"
            )
        # Actions first: with the runs contiguous, sums over few actions are three times as fast.
        columns = x.T.copy()
        # One product is cheaper than a test of every entry, and not finite if an entry is not.
        if not math.isfinite(np.vdot(columns, columns)):
            columns = self._checked(columns, who)
        if self.mode == "softmax":
            return softmax(self.logit_scale * columns).T
        if self.mode == "project":
            return project_to_simplex(columns).T
        if self.mode == "strict":
            for row in np.flatnonzero(off_simplex(columns, axis=0)):
                raise ActionError(
                    f"the action of {who} is off the simplex{_at(int(row), x)}: {x[row]} "
                    f"(sum {columns[:, row].sum():.9g}, minimum {x[row].min():.3g}); send a distribution, or "
                    "choose action_mode='normalize', 'softmax' or 'project' and the environment makes one"
                )
            return columns.T
        mass = np.maximum(columns, 0.0, out=columns)
        total = np.add.reduce(mass, 0)
        if not total.all():
            mass[:, total == 0] = 1.0
            total = np.add.reduce(mass, 0)
        mass /= total
        return mass.T

    def _checked(self, columns: FloatArray, who: str) -> FloatArray:
        """Actions of the same policy whose sums, differences and multiples are finite."""
        for row in np.flatnonzero(~np.isfinite(columns).all(0)):
            x = columns[:, row]
            raise ActionError(
                f"the action of {who} is not finite{_at(int(row), columns.T)}: {x}; has the policy diverged?"
            )
        if self.mode == "normalize":
            return columns / np.maximum(np.abs(columns).max(0), 1.0)
        if self.mode == "strict":
            return np.clip(columns, -1e300, 1e300)
        # Only differences from the largest matter; beyond these bounds the probability is 0.
        largest = 1.0 if self.mode == "project" else 1e3 / self.logit_scale
        with np.errstate(over="ignore"):
            return np.maximum(columns - columns.max(0), -2 * largest)

    def _indices(self, actions: npt.ArrayLike, who: str) -> IntArray:
        index = np.asarray(actions)
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise ActionError(
                f"the action of {who} must be an integer, got {actions!r}: action_mode='discrete' plays "
                "pure actions; choose another mode to play distributions"
            )
        extremes = index if len(index) == 1 else (index.min(), index.max())
        if not all(0 <= extreme < self.num_actions for extreme in extremes):
            row = int(np.argmax((index < 0) | (index >= self.num_actions)))
            raise ActionError(
                f"the action of {who} is {index[row]}{_at(row, index)}: pure actions are 0 … "
                f"{self.num_actions - 1}"
            )
        return index


def batch_of_one(action: Any) -> npt.ArrayLike:
    """One run's action as `ActionMap` takes it."""
    return action[None] if isinstance(action, np.ndarray) else [action]


def _at(row: int, batch: npt.NDArray[Any]) -> str:
    return f" in row {row}" if len(batch) > 1 else ""
