"""Expectations over how many others do what, exactly, by a dynamic program over counts."""

from __future__ import annotations

import numpy as np

from regret_envs.arrays import FloatArray


def expected_by_counts(values: FloatArray, policies: FloatArray) -> FloatArray:
    """E[value(K_1, …, K_{d−1})] of every player, K_i counting the *others* who choose action i.

    The others' choices are independent. The distribution of the counts over the players before n runs
    forward, the expected value over the players after n runs backward, and they meet at n: so every
    player is left out of its own counts without dividing by its probabilities, which would cancel. Time
    is O(N^d) a value and column for N players, where enumerating profiles takes d^N.

    Args:
        values: shape (num_values, N, …, N, columns or 1), with d − 1 axes of counts 0 … N − 1 of actions
            0 … d − 2; the rest choose action d − 1. Counts that add up to N or more do not occur, but
            their values must be finite.
        policies: shape (d, N, columns): independent problems are columns.

    Returns:
        Shape (num_values, N, columns).
    """
    num_actions, num_players, columns = policies.shape
    axes = num_actions - 1
    result = np.empty((len(values), num_players, columns))
    # The values after every player are kept, so columns are taken a few at a time to bound memory.
    width = max(_CELLS // (len(values) * num_players ** (axes + 1)), 1)
    for start in range(0, columns, width):
        part = slice(start, start + width)
        shared = values.shape[-1] == 1
        _few_columns(values if shared else values[..., part], policies[..., part], result[..., part])
    return result


_CELLS = 1 << 22


def _few_columns(values: FloatArray, policies: FloatArray, result: FloatArray) -> None:
    num_actions, num_players, columns = policies.shape
    axes = num_actions - 1
    shifts = _shifts(axes)
    # backward[n], of counts 0 … n over the players before n: the expectation over the players after n.
    backward = [values] * num_players
    for n in range(num_players - 1, 0, -1):
        later = backward[n]
        backward[n - 1] = sum(
            policies[i, n] * later[(slice(None), *(slice(s, s + n) for s in shift))]
            for i, shift in enumerate(shifts)
        )
    forward = np.ones((1,) * axes + (columns,))
    for n in range(num_players):
        result[:, n] = (backward[n] * forward).sum(tuple(range(1, axes + 1)))
        grown = np.zeros((n + 2,) * axes + (columns,))
        for i, shift in enumerate(shifts):
            grown[tuple(slice(s, s + n + 1) for s in shift)] += policies[i, n] * forward
        forward = grown


def _shifts(axes: int) -> list[tuple[int, ...]]:
    """By how much each count grows when a player takes each action; the last action is not counted."""
    return [tuple(int(axis == i) for axis in range(axes)) for i in range(axes + 1)]


def count_distribution(probabilities: FloatArray) -> FloatArray:
    """The distribution of Σ_n X_n of independent X_n ∈ {0, 1} (Poisson binomial).

    Args:
        probabilities: shape (N, ...), P(X_n = 1).

    Returns:
        Shape (N + 1, ...).
    """
    distribution = np.zeros((len(probabilities) + 1, *probabilities.shape[1:]))
    distribution[0] = 1.0
    for n, p in enumerate(probabilities):
        moved = p * distribution[: n + 1]
        distribution[: n + 1] *= 1 - p
        distribution[1 : n + 2] += moved
    return distribution
