"""Online policy evaluation: an agent watches a trajectory and estimates the value of every state as it
comes."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.rooms.policy_evaluation.markov import Trajectory


class ValueAgentLike(Protocol):
    """What `predict` asks of an agent; see `regret_envs.rooms.policy_evaluation.value_agents.ValueAgent`."""

    def reset(self, num_features: int, *, discount: float, num_runs: int) -> None:
        """Begin `num_runs` runs."""

    def observe(self, features: FloatArray, rewards: FloatArray) -> None:
        """x(S_k), shape (num_runs, num_features), and R_k, shape (num_runs,)."""

    def values(self, features: FloatArray) -> FloatArray:
        """Estimates of v at states with these features: (num_runs, m, num_features) to (num_runs, m)."""
        ...


def predict(agent: ValueAgentLike, trajectory: Trajectory) -> FloatArray:
    """Online policy evaluation: the agent is shown x(S_k), R_k and asked for v(S_k), for k = 0, …, n − 1.

    R_0, before which there was nothing, is shown as 0.

    Returns:
        The estimates, shape (num_runs, n).

    Raises:
        ValueError: if the agent's estimates are of the wrong shape or not finite; names the agent and the
            step.
    """
    context = trajectory.context
    num_runs, num_columns, num_features = context.features.shape
    agent.reset(num_features, discount=trajectory.process.discount, num_runs=num_runs)
    rewards = np.concatenate([np.zeros((num_runs, 1)), context.rewards], axis=1)
    estimates = np.empty((num_runs, num_columns - 1))
    for k in range(num_columns - 1):
        agent.observe(context.features[:, k], rewards[:, k])
        estimate = np.asarray(agent.values(context.features[:, k : k + 1]))
        if estimate.shape != (num_runs, 1) or not np.isfinite(estimate).all():
            raise ValueError(
                f"at step {k}, {agent!r} estimated {estimate}: it must be finite, of shape {(num_runs, 1)}"
            )
        estimates[:, k] = estimate[:, 0]
    return estimates


def value_regret(estimates: FloatArray, trajectory: Trajectory) -> FloatArray:
    """Regret against the certainty-equivalence predictor, in squared units of value.

    Σ_{k<n} (v̂_k − v(S_k))² − (c_k − v(S_k))², where c_k is what certainty equivalence makes of the first k
    transitions.

    Args:
        estimates: v̂_k, shape (num_runs, n), as `predict` returns them.
        trajectory: what they were made on.

    Returns:
        Shape (num_runs,).
    """
    values = trajectory.values[:, :-1]
    floor = (trajectory.online_certainty_equivalence[:, :-1] - values) ** 2
    return ((estimates - values) ** 2 - floor).sum(1)
