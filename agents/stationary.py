"""The stationary distribution of a Markov chain, right to the last digits."""

from __future__ import annotations

import numpy as np

from regret_envs.worlds import FloatArray

_FLOOR = 1e-300


def stationary_distribution(transitions: FloatArray) -> FloatArray:
    """π = Pπ of column-stochastic matrices, by Grassmann–Taksar–Heyman elimination.

    Only off-diagonal entries are used and nothing is ever subtracted, so every entry of π has a
    small **relative** error, however slowly the chain mixes; a linear solve, an eigenvector or power
    iteration lose all digits on nearly reducible chains. Off-diagonal entries are floored at 1e-300.

    Grassmann, Taksar and Heyman, "Regenerative Analysis and Steady State Distributions for Markov
    Chains", Operations Research 1985.

    Args:
        transitions: shape (num_actions, num_actions, ...): P[j, i] is the probability of going from
            i to j; batch axes last, so that the batch is contiguous.

    Returns:
        Shape (num_actions, ...), summing to 1 along the first axis.
    """
    p = np.maximum(transitions, _FLOOR)
    num_actions = len(p)
    # Eliminate the last state again and again: what flowed through it is rerouted.
    for n in range(num_actions - 1, 0, -1):
        p[n, :n] /= p[:n, n].sum(0)
        p[:n, :n] += p[:n, None, n] * p[None, n, :n]
    pi = np.empty(p.shape[1:])
    pi[0] = 1.0
    for n in range(1, num_actions):
        pi[n] = (p[n, :n] * pi[:n]).sum(0)
    return pi / pi.sum(0)
