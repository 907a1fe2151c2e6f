"""Polymatrix games: a two-player game on every edge of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray
from regret_envs.games.structured import StructuredGame
from regret_envs.names import lookup
from regret_envs.validation import at_least
from regret_envs.worlds import Bounds

EdgeLaw = Literal["general", "zero-sum", "coordination"]


class PolymatrixGame(StructuredGame):
    """Neighbors in a graph play two-player games with one action for all of them.

    ℓ_n(i) = −Σ_{m neighbor of n} (A_{nm} π_m)(i): one product an edge, whatever the number of players
    (Yanovskaya 1968). Where every edge is of common interest, A_{nm} = A_{mn}ᵀ, the outcome "potential"
    is minus the sum of the edges' payoffs.

    Args:
        num_actions: one number of actions per player.
        edges: payoffs (A_{nm}, A_{mn}) by players (n, m), of shapes (d_n, d_m) and (d_m, d_n).

    Raises:
        ValueError: if a player is not there, an edge is a loop or given twice, or a payoff matrix is not
            finite or of another shape.
    """

    def __init__(
        self,
        num_actions: Sequence[int],
        edges: Mapping[tuple[int, int], tuple[npt.ArrayLike, npt.ArrayLike]],
    ) -> None:
        self.num_actions = tuple(at_least("num_actions", d, 1) for d in num_actions)
        players, most = len(self.num_actions), max(self.num_actions)
        if len({frozenset(edge) for edge in edges}) < len(edges):
            raise ValueError(f"an edge is given twice among {list(edges)}")
        ends, payoffs = [], []
        lowest, highest = np.zeros(players), np.zeros(players)
        for (n, m), pair in edges.items():
            if n == m or not (0 <= n < players and 0 <= m < players):
                raise ValueError(f"edge {(n, m)} must join two different players of 0 … {players - 1}")
            for (own, other), payoff in zip([(n, m), (m, n)], pair, strict=True):
                matrix = np.asarray(payoff, dtype=np.float64)
                shape = (self.num_actions[own], self.num_actions[other])
                if matrix.shape != shape or not np.isfinite(matrix).all():
                    raise ValueError(
                        f"edge {(n, m)}: the payoffs of player {own} must be finite and of shape {shape}, "
                        f"got shape {matrix.shape}"
                    )
                ends.append((own, other))
                payoffs.append(np.pad(matrix, [(0, most - d) for d in shape]))
                lowest[own] += matrix.min()
                highest[own] += matrix.max()
        self._bounds = [(float(-high), float(-low)) for low, high in zip(lowest, highest, strict=True)]
        self.loss_scale = float((highest - lowest).max())
        if all(np.array_equal(a, b.T) for a, b in zip(payoffs[::2], payoffs[1::2], strict=True)):
            self.outcome_names = ("potential",)
        # Each edge twice, once for each of its ends, in the order of the players.
        order = sorted(range(len(ends)), key=ends.__getitem__)
        self._payoffs = np.array([payoffs[e] for e in order]).reshape(-1, most, most)
        owners, self._others = np.array([ends[e] for e in order], dtype=int).reshape(-1, 2).T
        self._owners, self._first = np.unique(owners, return_index=True)

    def loss_bounds(self, player: int) -> Bounds:
        """The sums of the edges' greatest and least payoffs, negated."""
        return self._bounds[player]

    def expected_losses(self, policies: FloatArray) -> FloatArray:
        """As in the base class, edge by edge."""
        by_player = np.ascontiguousarray(policies.swapaxes(0, 1))
        losses = np.zeros_like(by_player)
        if len(self._owners):
            payoffs = self._payoffs @ by_player[self._others]
            losses[self._owners] = -np.add.reduceat(payoffs, self._first, axis=0)
        return losses.swapaxes(0, 1)

    def outcomes(self, policies: FloatArray) -> dict[str, FloatArray]:
        """The potential, where every edge is of common interest."""
        if not self.outcome_names:
            return {}
        # An edge's payoff is in the losses of both its ends.
        return {"potential": np.einsum("inb,inb->b", policies, self.expected_losses(policies)) / 2}


def _ring(players: int) -> list[tuple[int, int]]:
    return [(n, n + 1) for n in range(players - 1)] + [(players - 1, 0)] * (players > 2)


GRAPHS: dict[str, Callable[[int], list[tuple[int, int]]]] = {
    "ring": _ring,
    "complete": lambda players: list(combinations(range(players), 2)),
    "star": lambda players: [(0, n) for n in range(1, players)],
}


def random_polymatrix(
    num_actions: Sequence[int] = (3, 3, 3, 3),
    *,
    graph: str = "ring",
    law: EdgeLaw = "general",
    seed: int = 0,
) -> PolymatrixGame:
    """Uniform payoffs on [−1, 1] on every edge, divided so that the losses' range is 1.

    Args:
        num_actions: one number of actions per player.
        graph: "ring", "complete" or "star" (around player 0).
        law: "general", "zero-sum" (average play of no-regret agents then tends to a Nash equilibrium; Cai
            and Daskalakis, "On Minmax Theorems for Multiplayer Games", SODA 2011) or "coordination", where
            both ends have the same payoff.
        seed: of the payoffs.

    Raises:
        ValueError: if the graph or the law is unknown, or there are fewer than two players.
    """
    at_least("the number of players", len(num_actions), 2)
    rng = np.random.default_rng(at_least("seed", seed, 0))
    other_end = {"general": None, "zero-sum": -1.0, "coordination": 1.0}
    sign = lookup("law", law, other_end)
    edges = {}
    for n, m in lookup("graph", graph, GRAPHS)(len(num_actions)):
        own, other = rng.uniform(-1, 1, (2, num_actions[n], num_actions[m]))
        edges[n, m] = (own, (other if sign is None else sign * own).T)
    scale = PolymatrixGame(num_actions, edges).loss_scale or 1.0
    return PolymatrixGame(num_actions, {e: (a / scale, b / scale) for e, (a, b) in edges.items()})
