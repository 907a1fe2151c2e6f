"""The stationary distribution of a Markov chain, accurate to the last digits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray


def stationary_distribution(
    transitions: FloatArray, *, work: FloatArray | None = None, guess: FloatArray | None = None
) -> FloatArray:
    """π = Pπ of column-stochastic matrices, by Grassmann–Taksar–Heyman elimination.

    Only off-diagonal entries are used and nothing is ever subtracted, so every entry of π has a
    small **relative** error, however slowly the chain mixes; a linear solve, an eigenvector or power
    iteration lose all digits on nearly reducible chains. Off-diagonal entries are at least 1e-300, so
    that every chain has a unique answer.

    Grassmann, Taksar and Heyman, "Regenerative Analysis and Steady State Distributions for Markov
    Chains", Operations Research 1985.

    With many actions a guess is improved by power iteration first. Its error is certified by Doeblin's
    coefficient α = Σ_j min_i P[j, i], since ‖Px − π‖₁ ≤ ‖Px − x‖₁ / α; where that is not below 1e-12 soon,
    rounding included, elimination answers.

    Args:
        transitions: shape (num_actions, num_actions, ...): P[j, i] is the probability of going from
            i to j; batch axes last, so that the batch is contiguous. Not negative; not changed.
        work: an array of that shape to work in, which saves making one.
        guess: shape (num_actions, ...), a distribution, best the answer for similar matrices. The columns of
            `transitions` must then sum to 1, where otherwise rates do.

    Returns:
        Shape (num_actions, ...), summing to 1 along the first axis.
    """
    # The one place that chooses. Milliseconds of one core for one matrix, for 64 or (d = 300) 8, batch last
    # / in blocks: d = 50: 0.3 / 0.3, 2.5 / 2.3; d = 100: 0.8 / 0.7, 16 / 11; d = 300: 9 / 3.5, 110 / 19;
    # d = 1000: 283 / 40. PyTorch in place of numpy: 7, 23 and 39 where this takes 11, 19 and 40.
    if len(transitions) < _MANY_ACTIONS:
        return _eliminate_together(np.add(transitions, _FLOOR, out=work))
    batch = transitions.shape[2:]
    columns = transitions.reshape(*transitions.shape[:2], -1)
    pi = np.empty((columns.shape[2], len(columns)))
    few = max(_BATCH_CELLS // len(columns) ** 2, 1)
    for first in range(0, len(pi), few):
        part = slice(first, first + few)
        p = np.array(columns[..., part].transpose(2, 0, 1), order="C")
        left = np.arange(len(p))
        if guess is not None:
            pi[part], certain = _improve(p, guess.reshape(len(guess), -1)[:, part].T)
            left = np.flatnonzero(~certain)
        if len(left):
            pi[first + left] = _eliminate_in_blocks(p if len(left) == len(p) else p[left])
    return pi.T.reshape(len(columns), *batch)


def _eliminate_together(p: FloatArray) -> FloatArray:
    """All matrices at once, batch last; overwrites `p`."""
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


def _eliminate_in_blocks(p: FloatArray) -> FloatArray:
    """Matrices (batch, d, d), most of the work in matrix products; overwrites `p`."""
    # Adding the floor is 3 times faster than np.maximum and changes no entry above 1e-284.
    p += _FLOOR
    num_actions = p.shape[1]
    for stop in range(num_actions, 1, -_BLOCK):
        start = max(stop - _BLOCK, 1)
        for n in range(stop - 1, start - 1, -1):
            through = p[:, n, :n]
            through /= p[:, :n, n].sum(1, keepdims=True)
            # At once where the block's other states need it: in their rows and in their columns.
            p[:, start:n, :n] += p[:, start:n, n, None] * through[:, None]
            p[:, :start, start:n] += p[:, :start, n, None] * through[:, None, start:]
        p[:, :start, :start] += p[:, :start, start:stop] @ p[:, start:stop, :start]
    pi = np.empty(p.shape[:2])
    pi[:, 0] = 1.0
    for n in range(1, num_actions):
        pi[:, n] = np.einsum("bk,bk->b", p[:, n, :n], pi[:, :n])
    pi /= pi.sum(1, keepdims=True)
    return pi


def _improve(p: FloatArray, guess: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Power iteration of matrices (batch, d, d) from guesses (batch, d), and which results are certain."""
    mixing = p.min(2).sum(1)
    # A step is rounded, so a change of 0 proves no more than one of a few units in the last place.
    target = _TOLERANCE * mixing - _ROUNDING
    pi, last = guess, np.full(len(p), np.inf)
    change = last
    if (target < 0).all():
        return pi, change <= target
    for step in range(MOST_STEPS):
        after = (p @ pi[..., None])[..., 0]
        after /= after.sum(1, keepdims=True)
        change = np.abs(after - pi).sum(1)
        pi = after
        if (change <= target).all():
            break
        # Where the rate of the last steps would not do in the steps that are left, elimination is faster.
        if step % 8 == 7:
            with np.errstate(divide="ignore", invalid="ignore"):
                if not (change * (change / last) ** ((MOST_STEPS - step) / 8) <= target).any():
                    break
            last = change
    return pi, change <= target


_FLOOR = 1e-300
_CACHE_CELLS = 1 << 14
_BATCH_CELLS = 1 << 19
_MANY_ACTIONS = 100
_BLOCK = 8
MOST_STEPS = 48
"""Of power iteration before elimination answers; 0: elimination always."""
_TOLERANCE, _ROUNDING = 1e-12, 1e-15
