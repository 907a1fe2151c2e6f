"""The stationary distribution of a Markov chain, as `regret_envs.agents.swap.stationary` finds it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array


def stationary_distribution(transitions: Array) -> Array:
    """π = Pπ of column-stochastic matrices, by Grassmann–Taksar–Heyman elimination.

    Entries are kept from 0 by 1e-300 in float64 and 1e-30 in float32; nothing is subtracted, so every entry
    of π has a small relative error. Grassmann, Taksar and Heyman, Operations Research 1985.

    Args:
        transitions: P, shape (num_actions, num_actions, ...); P[j, i] is the probability of going from i to
            j, or a rate.

    Returns:
        π, shape (num_actions, ...).
    """
    num_actions = len(transitions)
    p = transitions + (1e-300 if transitions.dtype == jnp.float64 else 1e-30)
    if num_actions <= _UNROLLED:
        return _unrolled(p)
    return _looped(p)


_UNROLLED = 4
"""Up to so many actions the elimination is unrolled; beyond, that compiles slower and runs no faster."""


@jax.custom_jvp
def _ratio(x: Array, y: Array) -> Array:
    """x / y, whose derivative does not square y: entries of 1e-30 have no square in float32."""
    return x / y


@_ratio.defjvp
def _ratio_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (x, y), (dx, dy) = primals, tangents
    ratio = x / y
    return ratio, (dx - ratio * dy) / y


def _unrolled(p: Array) -> Array:
    num_actions = len(p)
    kept = [p]
    # Eliminate the last state again and again: what flowed through it is rerouted.
    for n in range(num_actions - 1, 0, -1):
        last = kept[-1]
        through = _ratio(last[n, :n], last[:n, n].sum(0))
        kept[-1] = through[None]
        kept.append(last[:n, :n] + last[:n, n, None] * through)
    rows = kept[-2::-1]
    pi = jnp.ones_like(p[0, :1])
    for row in rows:
        pi = jnp.concatenate([pi, (row[0] * pi).sum(0)[None]])
    return _ratio(pi, pi.sum(0))


def _looped(p: Array) -> Array:
    num_actions = len(p)
    index = jnp.arange(num_actions).reshape(-1, *(1,) * (p.ndim - 2))

    def eliminate(k: int, p: Array) -> Array:
        n = num_actions - 1 - k
        out = jnp.where(index < n, p[:, n], 0.0)
        through = jnp.where(index < n, _ratio(p[n], out.sum(0)), 0.0)
        return (p + out[:, None] * through).at[n].set(through)

    def substitute(n: int, pi: Array) -> Array:
        return pi.at[n].set((p[n] * pi).sum(0))

    p = jax.lax.fori_loop(0, num_actions - 1, eliminate, p)
    pi = jax.lax.fori_loop(1, num_actions, substitute, jnp.zeros_like(p[0]).at[0].set(1.0))
    return _ratio(pi, pi.sum(0))
