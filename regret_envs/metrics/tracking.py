"""Regret where the best action changes: against sequences of actions, and over intervals of rounds."""

from __future__ import annotations

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.validation import at_least


def tracking_regret(policies: FloatArray, losses: FloatArray, max_switches: int) -> FloatArray:
    """Σ_t ⟨ℓ_t, π_t⟩ − min over sequences a_1 … a_T with at most S switches of Σ_t ℓ_t(a_t).

    Exact, by dynamic programming over rounds and switches: the least loss of a sequence that ends on
    a with s switches is ℓ_t(a) plus the lesser of the one that ended on a with s, and the least over
    actions with s − 1. Time O(T S d). S = 0 is the external regret, S = T − 1 the regret against the
    best action of every round (dynamic regret). Herbster and Warmuth, "Tracking the Best Expert", 1998.

    Args:
        policies: shape (horizon, num_runs, num_actions).
        losses: the same shape.
        max_switches: S.

    Returns:
        Shape (num_runs,), in units of loss.

    Raises:
        ValueError: if S lies outside 0 … horizon − 1.
        TypeError: if it is not an integer.
    """
    horizon = len(losses)
    if at_least("max_switches", max_switches, 0) >= horizon:
        raise ValueError(f"max_switches must lie in 0 … horizon − 1 = {horizon - 1}, got {max_switches}")
    # Entry [s, a]: the least loss so far with at most s switches, ending on a.
    best = np.zeros((max_switches + 1, *losses.shape[:0:-1]))
    for loss in losses.transpose(0, 2, 1):
        if max_switches:
            np.minimum(best[1:], best[:-1].min(1, keepdims=True), out=best[1:])
        best += loss
    return np.einsum("tra,tra->r", policies, losses) - best[-1].min(0)


def adaptive_regret(policies: FloatArray, losses: FloatArray, length: int | None = None) -> FloatArray:
    """The largest external regret of any interval of rounds: max_{r ≤ s} R over rounds r … s.

    Hazan and Seshadhri, "Efficient Learning Algorithms for Changing Environments", 2009; over intervals
    of one length, the strongly adaptive regret of Daniely, Gonen and Shalev-Shwartz, 2015.

    Args:
        policies: shape (horizon, num_runs, num_actions).
        losses: the same shape.
        length: rounds of every interval; None: intervals of all lengths.

    Returns:
        Shape (num_runs,), in units of loss.

    Raises:
        ValueError: if `length` lies outside 1 … horizon.
        TypeError: if it is not an integer.
    """
    horizon = len(losses)
    regrets = np.zeros((horizon + 1, *losses.shape[1:]))
    np.cumsum(np.einsum("tra,tra->tr", policies, losses)[..., None] - losses, axis=0, out=regrets[1:])
    if length is None:
        # Against an action, the interval that ends now is worst from where its regret was least.
        return (regrets[1:] - np.minimum.accumulate(regrets, axis=0)[:-1]).max((0, 2))
    if at_least("length", length, 1) > horizon:
        raise ValueError(f"length must lie in 1 … horizon = {horizon}, got {length}")
    return (regrets[length:] - regrets[:-length]).max((0, 2))
