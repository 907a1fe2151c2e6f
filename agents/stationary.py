"""The stationary distribution of a Markov chain, right to the last digits."""

from __future__ import annotations

import numpy as np

from regret_envs.worlds import FloatArray


def stationary_distribution(transitions: FloatArray, *, work: FloatArray | None = None) -> FloatArray:
    """π = Pπ of column-stochastic matrices, by Grassmann–Taksar–Heyman elimination.

    Only off-diagonal entries are used and nothing is ever subtracted, so every entry of π has a
    small **relative** error, however slowly the chain mixes; a linear solve, an eigenvector or power
    iteration lose all digits on nearly reducible chains. Off-diagonal entries are kept from 0 by
    1e-300, so every chain has one answer.

    Grassmann, Taksar and Heyman, "Regenerative Analysis and Steady State Distributions for Markov
    Chains", Operations Research 1985.

    Args:
        transitions: shape (num_actions, num_actions, ...): P[j, i] is the probability of going from
            i to j; batch axes last, so that the batch is contiguous. Not negative; not changed.
        work: an array of that shape to work in, which saves making one.

    Returns:
        Shape (num_actions, ...), summing to 1 along the first axis.
    """
    # Adding the floor is 3 times faster than np.maximum and changes no entry above 1e-284.
    p = np.add(transitions, _FLOOR, out=work)
    num_actions = len(p)
    # Eliminate the last state again and again: what flowed through it is rerouted.
    for n in range(num_actions - 1, 0, -1):
        through = p[n, :n]
        through /= np.add.reduce(p[:n, n], axis=0)
        # A few rows at once, so that the products stay in the cache and are not given fresh memory.
        rows = max(_CACHE_CELLS // through.size, 1)
        for j in range(0, n, rows):
            p[j : min(j + rows, n), :n] += p[j : min(j + rows, n), None, n] * through
    pi = np.empty(p.shape[1:])
    pi[0] = 1.0
    for n in range(1, num_actions):
        pi[n] = np.add.reduce(p[n, :n] * pi[:n], axis=0)
    pi /= np.add.reduce(pi, axis=0)
    return pi


_FLOOR = 1e-300
_CACHE_CELLS = 1 << 14
