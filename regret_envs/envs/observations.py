"""The observations of a reinforcement-learning agent: one flat float32 vector per round.

With d actions, the slices of an observation are

| slice | holds | before round 1 |
|---|---|---|
| `[0]` | time: rounds played / horizon (never above 1) | 0 |
| `[1 : 1+d]` | the agent's own policy of the last round | uniform |
| `[1+d : 1+2d]` | the losses of the last round | 0 |
| `[1+2d : 1+3d]` | the mean of the losses shown so far | 0 |

Under bandit feedback the losses of the last round are that of the drawn action and 0 for the others, and
the mean of an action's losses is over the rounds that drew it (0 if none did).

They hold losses, not rewards. They hold the time because the suite's agents know the horizon too, and because
the last round of an episode has no future.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Space

from regret_envs.arrays import FloatArray


def observation_space(num_actions: int, loss_bound: float) -> Space[npt.NDArray[np.float32]]:
    """The space of observations, a float32 Box of shape (1 + 3 · num_actions,).

    Args:
        num_actions: d.
        loss_bound: the largest loss in absolute value, infinite where losses are unbounded.
    """
    low = np.concatenate([np.zeros(1 + num_actions), np.full(2 * num_actions, -loss_bound)])
    high = np.concatenate([np.ones(1 + num_actions), np.full(2 * num_actions, loss_bound)])
    return Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


class Observer:
    """One agent's observations of `num_runs` runs at once.

    Args:
        num_actions: d.
        horizon: T.
        num_runs: runs.
    """

    def __init__(self, num_actions: int, *, horizon: int, num_runs: int) -> None:
        shape = (num_actions, num_runs)
        self._horizon = horizon
        self._t = 0
        # Transposed, so that the runs are contiguous.
        self._policies: FloatArray = np.full(shape, 1 / num_actions).T
        self._losses: FloatArray = np.zeros(shape).T
        self._sums = np.zeros(shape).T
        self._counts: FloatArray | float = 0.0  # an array once only some losses are shown
        self._time = np.empty((1, num_runs))

    def update(self, policies: FloatArray, losses: FloatArray, drawn: FloatArray | None = None) -> None:
        """Take in a round.

        Args:
            policies: what the agent played, (num_runs, num_actions).
            losses: the losses of all actions, the same shape.
            drawn: under bandit feedback 1 at each run's drawn action and 0 elsewhere, else None.
        """
        self._t += 1
        self._policies = policies
        self._losses = losses if drawn is None else losses * drawn
        self._sums += self._losses
        self._counts = self._counts + (1.0 if drawn is None else drawn)

    def observations(self) -> npt.NDArray[np.float32]:
        """A new array (num_runs, 1 + 3 · num_actions)."""
        self._time[...] = min(self._t / self._horizon, 1.0)
        counts = max(self._counts, 1.0) if isinstance(self._counts, float) else np.maximum(self._counts, 1.0)
        parts = (self._time, self._policies.T, self._losses.T, (self._sums / counts).T)
        return np.ascontiguousarray(np.concatenate(parts, dtype=np.float32, casting="unsafe").T)
