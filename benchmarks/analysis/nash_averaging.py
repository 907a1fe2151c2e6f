"""Nash averaging (Balduzzi, Tuyls, Perolat and Graepel, "Re-evaluating Evaluation", NeurIPS 2018).

Agents are the strategies of a symmetric zero-sum meta-game. Its maximum-entropy equilibrium says how
much each agent counts: copies of an agent share their weight, a dominated one has none, and cycles,
which a rating such as Elo does not see, are weighed as such.
"""

from __future__ import annotations

import numpy as np

from regret_envs.arrays import FloatArray


def nash_averaging(payoffs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The maximum-entropy equilibrium p of a symmetric zero-sum game, and every strategy's payoff A p.

    The equilibria are {p ∈ Δ : A p ≤ 0}. Their largest support S comes from one linear program; there
    A p = 0, and p maximizes the entropy under A p ≤ 0, through its dual: p ∝ exp(−Aᵀλ) with λ free on
    S and λ ≥ 0 elsewhere.

    Args:
        payoffs: A, (n, n), of the row strategy against the column strategy, A = −Aᵀ.

    Returns:
        p, (n,), and A p, (n,): 0 on the support, elsewhere what is lost against it.

    Raises:
        ValueError: if A is not antisymmetric or not finite.
    """
    from scipy.optimize import linprog, minimize

    a = np.asarray(payoffs, dtype=np.float64)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not np.isfinite(a).all():
        raise ValueError(f"the meta-game needs a finite square matrix, got shape {a.shape}")
    size = np.abs(a).max(initial=0.0)
    if np.abs(a + a.T).max(initial=0.0) > 1e-9 * size:
        raise ValueError("the meta-game is not antisymmetric: A[i, j] must be −A[j, i]")
    n = len(a)
    if size == 0:
        return np.full(n, 1 / n), np.zeros(n)
    a = (a - a.T) / (2 * size)
    # max Σ u over A q ≤ 0, 0 ≤ u ≤ 1, u ≤ q: an equilibrium scaled up, so that u = 1 on all of S.
    found = linprog(
        np.r_[np.zeros(n), -np.ones(n)],
        A_ub=np.block([[a, np.zeros((n, n))], [-np.eye(n), np.eye(n)]]),
        b_ub=np.zeros(2 * n),
        bounds=[(0, None)] * n + [(0, 1)] * n,
    )
    support = found.x[n:] > 0.5
    p = np.zeros(n)
    p[support] = found.x[:n][support] / found.x[:n][support].sum()
    inside, outside = a[np.ix_(support, support)], a[np.ix_(~support, support)]
    if np.linalg.matrix_rank(inside, tol=1e-9) < support.sum() - 1:
        constraints = np.vstack([inside, outside])

        def dual(multipliers: FloatArray) -> tuple[float, FloatArray]:
            """log Σ exp(−Aᵀλ) and its gradient."""
            z = -multipliers @ constraints
            w = np.exp(z - z.max())
            return float(z.max() + np.log(w.sum())), -constraints @ (w / w.sum())

        bounds = [(None, None)] * len(inside) + [(0, None)] * len(outside)
        options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10}
        best = minimize(dual, np.zeros(n), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        z = -best @ constraints
        p[support] = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
    return p, size * a @ p
