"""Equilibria of small games of two players, for figures: Nash equilibria, and the marginals of all CCE."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from regret_envs.arrays import FloatArray

_TOLERANCE = 1e-9


def nash_equilibria(row: FloatArray, column: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """The Nash equilibria whose supports are equally large, by support enumeration.

    In a nondegenerate game these are all (Nisan et al., Algorithmic Game Theory, 2007, algorithm 3.4); of a
    component of a degenerate game it finds extreme points.

    Args:
        row: the losses of player 0, shape (m, n).
        column: the losses of player 1, of the same shape.

    Returns:
        The policies of both players of every equilibrium, shapes (m,) and (n,).
    """
    found: list[tuple[FloatArray, FloatArray]] = []
    m, n = row.shape
    scale = max(float(np.abs(row).max()), float(np.abs(column).max()))
    for size in range(1, min(m, n) + 1):
        for rows in combinations(range(m), size):
            for columns in combinations(range(n), size):
                # Each player's mixture makes the other indifferent within the other's support.
                q = _indifferent(row[np.ix_(rows, columns)])
                p = _indifferent(column[np.ix_(rows, columns)].T)
                if p is None or q is None:
                    continue
                x, y = np.zeros(m), np.zeros(n)
                x[list(rows)], y[list(columns)] = p, q
                best = _is_best(row @ y, x, scale) and _is_best(x @ column, y, scale)
                if best and not _known(found, x, y):
                    found.append((x, y))
    return found


def _indifferent(losses: FloatArray) -> FloatArray | None:
    """The mixture of columns under which all rows of a square matrix lose the same; None without one."""
    size = len(losses)
    system = np.block([[losses, -np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
    goal = np.append(np.zeros(size), 1.0)
    try:
        mixture: FloatArray = np.linalg.solve(system, goal)[:size]
    except np.linalg.LinAlgError:
        return None
    return np.maximum(mixture, 0.0) if mixture.min() > -_TOLERANCE else None


def _is_best(losses: FloatArray, policy: FloatArray, scale: float) -> bool:
    return bool(policy @ losses - losses.min() <= _TOLERANCE * scale)


def _known(found: list[tuple[FloatArray, FloatArray]], x: FloatArray, y: FloatArray) -> bool:
    return any(np.allclose(x, a, atol=1e-7) and np.allclose(y, b, atol=1e-7) for a, b in found)


def cce_marginals(
    row: FloatArray, column: FloatArray, *, player: int = 0, directions: FloatArray
) -> FloatArray:
    """Extreme points of the marginals of a player in all coarse correlated equilibria, by linear programs.

    A distribution μ over action profiles is one if no player n gains by a fixed action a:
    E_μ[ℓ_n(a_n, a_{−n})] ≤ E_μ[ℓ_n(a, a_{−n})].

    Args:
        row: the losses of player 0, shape (m, n).
        column: the losses of player 1, of the same shape.
        player: whose marginals.
        directions: shape (k, d of the player); the marginal that is farthest in each is found.

    Returns:
        Marginals, shape (k, d of the player).
    """
    from scipy.optimize import linprog

    m, n = row.shape
    gains = [(row - row[a]).ravel() for a in range(m)] + [(column - column[:, [a]]).ravel() for a in range(n)]
    points = []
    for direction in directions:
        weights = np.repeat(direction, n) if player == 0 else np.tile(direction, m)
        solved = linprog(-weights, A_ub=gains, b_ub=np.zeros(m + n), A_eq=np.ones((1, m * n)), b_eq=[1.0])
        points.append(solved.x.reshape(m, n).sum(axis=1 - player))
    return np.array(points)
