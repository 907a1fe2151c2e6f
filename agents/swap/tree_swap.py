"""TreeSwap: swap regret over a horizon that depends on ln d instead of d."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from regret_envs.agents.base import Agent, Reduction
from regret_envs.agents.external.hedge import Hedge
from regret_envs.arrays import FloatArray
from regret_envs.validation import at_least


@dataclass(eq=False)
class TreeSwap(Reduction):
    """TreeSwap: the reduction from swap to external regret through a tree of lazy agents.

    The T = M^L rounds are the leaves of a tree of L levels in which every node has M children. A node plays
    M iterations of an external-regret agent, one per child: it plays one policy through all rounds below the
    child and is then shown their average loss. A round's policy is the mean of the L policies on the path to
    its leaf. Only that path is stored: O(L d) per round, where Blum–Mansour takes d² and a stationary
    distribution.

    Dagan, Daskalakis, Fishelson and Golowich, "From External to Swap Regret 2.0", STOC 2024, and Peng and
    Rubinstein, "Fast Swap Regret Minimization and Applications to Approximate Correlated Equilibria",
    STOC 2024: (ln d / ε²)^{O(1/ε)} rounds for swap regret ε T.

    Args:
        copies: the agent at the nodes, `Hedge()` by default.
        depth: L. None: the depth of the best guarantee for losses of range 2. M is the least number with
            M^L ≥ T. If the horizon is unknown, trees for 16, 32, 64, … rounds follow one another.

    Raises:
        TypeError: if `copies` is not an agent or `depth` not an integer.
        ValueError: if `depth` is below 1.

    Guarantee: L · SR_T ≤ ρ T + Σ_{l=1}^{L−1} (the regrets of the nodes of level l), since the policies of
    level l + 1 are compared with swaps of those of level l and the sum telescopes; with Hedge
    about ρ T (1 / L + sqrt(ln d / (2 M))).
    """

    copies: Agent = field(default_factory=Hedge)
    depth: int | None = None

    reference = "Dagan, Daskalakis, Fishelson and Golowich 2024; Peng and Rubinstein 2024"
    guarantee = "swap regret ≤ ρ T (1 / L + sqrt(ln d / (2 M))), M^L ≥ T"
    bounds = "swap"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth is not None:
            at_least("depth", self.depth, 1)

    def _live_copies(self) -> Agent:
        return self._nodes[0]

    def copy_horizons(self, num_actions: int, horizon: int | None) -> Iterable[int | None]:
        """The number of children of a node."""
        first = _FIRST if horizon is None else horizon
        return (_breadth(first, self._depth(num_actions, first)),)

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float | None:
        """(ρ T + Σ_{l=1}^{L−1} nodes of level l · rounds a child · the copies' bound) / L.

        None where the copies have no bound of their external regret.
        """
        depth = self._depth(num_actions, horizon)
        return self._bound(depth, num_actions, horizon, loss_range)

    def _bound(self, depth: int, num_actions: int, horizon: int, loss_range: float) -> float | None:
        if self.copies.bounds not in ("external", "swap"):
            return None
        breadth = _breadth(horizon, depth)
        one = self.copies.regret_bound(num_actions, breadth, loss_range)
        if one is None:
            return None
        below = [breadth**level for level in range(depth - 1)]  # rounds a child, from the last level up
        nodes = sum(math.ceil(horizon / (breadth * rounds)) * rounds for rounds in below)
        return 0.0 if num_actions == 1 else (loss_range * horizon + nodes * one) / depth

    def _depth(self, num_actions: int, horizon: int) -> int:
        if self.depth is not None:
            return self.depth
        depths = range(1, horizon.bit_length() + 1)
        bounds = [self._bound(depth, num_actions, horizon, 2.0) for depth in depths]
        known = [(bound, depth) for bound, depth in zip(bounds, depths, strict=True) if bound is not None]
        return min(known)[1] if known else 2

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start a tree for the horizon, or for 16 rounds if it is unknown."""
        self._shape = (num_actions, num_runs)
        self._rng = rng
        self._begin(_FIRST if horizon is None else horizon)

    def _begin(self, horizon: int) -> None:
        self._t, self._horizon = 0, horizon
        depth = self._depth(self._shape[0], horizon)
        self._breadth = _breadth(horizon, depth)
        # From the leaves up, per level of the path: the node, what it plays, and the losses it will be shown.
        self._nodes = [self.copies.as_copy(1) for _ in range(depth)]
        self._losses = np.zeros((depth, *self._shape))
        self._plays = np.empty((depth, *self._shape))
        for level in range(depth):
            self._enter(level)

    def _enter(self, level: int) -> None:
        num_actions, num_runs = self._shape
        self._nodes[level].reset(num_actions, horizon=self._breadth, num_runs=num_runs, rng=self._rng)
        self._plays[level] = self._nodes[level].act().T

    def act(self) -> FloatArray:
        """The mean policy of the nodes on the path to the round's leaf."""
        return self._plays.mean(0).T

    def observe(self, losses: FloatArray) -> None:
        """Show the average loss to the nodes whose child has ended, and move to the next leaf."""
        self._t += 1
        self._losses += losses.T
        if self._t == self._horizon:
            self._begin(2 * self._horizon)
            return
        rounds = 1
        for level, node in enumerate(self._nodes):
            if self._t % rounds:
                break
            if self._t % (rounds * self._breadth):
                node.observe((self._losses[level] / rounds).T)
                self._plays[level] = node.act().T
            else:
                self._enter(level)
            self._losses[level] = 0.0
            rounds *= self._breadth


def _breadth(horizon: int, depth: int) -> int:
    """The least M with M^depth ≥ horizon."""
    breadth = max(round(horizon ** (1 / depth)) - 1, 1)
    while breadth**depth < horizon:
        breadth += 1
    return breadth


_FIRST = 16
