"""What a player can get by committing first: the Stackelberg value of a two-player game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regret_envs.arrays import FloatArray


@dataclass(frozen=True)
class Stackelberg:
    """A strong Stackelberg equilibrium: the follower breaks ties as the leader wants.

    Attributes:
        value: the leader's payoff per round.
        commitment: the leader's policy, shape (num_actions of the leader,).
        response: the follower's action.
    """

    value: float
    commitment: FloatArray
    response: int


def stackelberg(losses: Sequence[FloatArray], leader: int = 0) -> Stackelberg:
    """The best commitment of `leader`, by a linear program for every action of the follower.

    With payoffs u of the leader and v of the follower, among the policies x to which j is a best response:
    max_x Σ_i x_i u(i, j) subject to Σ_i x_i (v(i, j) − v(i, k)) ≥ 0 for all k; the value is the largest
    over j. Conitzer and Sandholm, "Computing the Optimal Strategy to Commit to", EC 2006.

    Args:
        losses: as in `NormalFormGame.losses`, negated payoffs: one array (d_0, d_1) per player.
        leader: 0 or 1.

    Raises:
        ValueError: if it is not one game of two players, or there is no such leader.
    """
    from scipy.optimize import linprog

    if len(losses) != 2 or losses[0].ndim != 2 or leader not in (0, 1):
        shapes = [a.shape for a in losses]
        raise ValueError(
            f"a Stackelberg value needs one game of two players and leader 0 or 1, got losses of shapes "
            f"{shapes} and leader {leader!r}"
        )
    # Axes: the leader's action, the follower's.
    u, v = (losses[n] if leader == 0 else losses[n].T for n in (leader, 1 - leader))
    best: Stackelberg | None = None
    for j in range(u.shape[1]):
        found = linprog(
            u[:, j],
            A_ub=(v[:, [j]] - v).T,
            b_ub=np.zeros(v.shape[1]),
            A_eq=np.ones((1, len(u))),
            b_eq=[1.0],
            method="highs",
        )
        if found.success and (best is None or -found.fun > best.value):
            best = Stackelberg(0.0 - float(found.fun), found.x, j)
    assert best is not None  # every policy has a best response
    return best
