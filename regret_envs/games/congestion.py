"""Congestion games, which are routing games where the resources are roads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray
from regret_envs.games.counting import count_distribution, expected_by_counts
from regret_envs.games.structured import StructuredGame
from regret_envs.validation import at_least
from regret_envs.worlds import Bounds


class CongestionGame(StructuredGame):
    """Players choose sets of resources; a resource costs each of its users more the more there are.

    With k_r the number of users of resource r, a player's loss is Σ_{r in its strategy} c_r(k_r). Affine
    latencies c_r(k) = a_r k + b_r are recognized and take a closed form, where one's own use counts
    once: c_r = a_r (1 + Σ_{m≠n} q_{m,r}) + b_r with q the others' probabilities of use. Others take the
    dynamic program of `regret_envs.games.counting`.

    The outcome "potential" is the expectation of Φ = Σ_r Σ_{k=1}^{k_r} c_r(k), which changes by exactly
    what a player's own loss changes by (Rosenthal, "A Class of Games Possessing Pure-Strategy Nash
    Equilibria", 1973).

    Args:
        latencies: shape (num_resources, num_players): c_r(k) at [r, k − 1].
        strategies: one list per player of its strategies, each a collection of resources. None: everyone
            chooses one resource of all.

    Attributes:
        affine: whether all latencies are affine.

    Raises:
        ValueError: if the latencies are not a finite matrix, there are not as many lists of strategies as
            players, a player has none, or a strategy names a resource that is not there or one twice.
    """

    outcome_names = ("potential",)

    def __init__(
        self, latencies: npt.ArrayLike, strategies: Sequence[Sequence[Sequence[int]]] | None = None
    ) -> None:
        table = np.array(latencies, dtype=np.float64)
        if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
            raise ValueError(
                f"latencies must be a finite array (num_resources, num_players), got shape {table.shape}"
            )
        num_resources, num_players = table.shape
        if strategies is None:
            strategies = [[[r] for r in range(num_resources)]] * num_players
        if len(strategies) != num_players:
            raise ValueError(
                f"latencies are for {num_players} players, strategies for {len(strategies)}: give one list "
                "of strategies per player"
            )
        for n, own in enumerate(strategies):
            if not own:
                raise ValueError(f"player {n} has no strategy")
            for strategy in own:
                if len(set(strategy)) < len(strategy) or not all(0 <= r < num_resources for r in strategy):
                    raise ValueError(
                        f"player {n}: strategy {list(strategy)} must name resources 0 … {num_resources - 1}, "
                        "none twice"
                    )
        self.latencies = table
        self.strategies = strategies
        self.num_actions = tuple(map(len, strategies))
        # Entry [n, i, r]: whether player n's strategy i uses resource r.
        self._uses = np.zeros((num_players, max(self.num_actions), num_resources))
        for n, own in enumerate(strategies):
            for i, strategy in enumerate(own):
                self._uses[n, i, list(strategy)] = 1.0
        self._slopes = table[:, 1] - table[:, 0] if num_players > 1 else np.zeros(num_resources)
        self._offsets = table[:, 0] - self._slopes
        line = self._slopes[:, None] * np.arange(1, num_players + 1) + self._offsets[:, None]
        self.affine = bool(np.allclose(line, table, rtol=1e-12, atol=1e-12 * np.abs(table).max()))
        # As many users at once as can use the resource.
        users = np.maximum(self._uses.any(1).sum(0), 1)
        met = np.arange(1, num_players + 1) <= users[:, None]
        most = self._uses @ np.where(met, table, -np.inf).max(1)
        least = self._uses @ np.where(met, table, np.inf).min(1)
        self._bounds = [
            (float(least[n, :d].min()), float(most[n, :d].max())) for n, d in enumerate(self.num_actions)
        ]
        self.loss_scale = max(greatest - least for least, greatest in self._bounds)

    def loss_bounds(self, player: int) -> Bounds:
        """With as few and as many users of each resource as there can be."""
        return self._bounds[player]

    def expected_losses(self, policies: FloatArray) -> FloatArray:
        """As in the base class; latencies that are not affine take O(N²) a resource and run."""
        use = self._use(policies)
        if self.affine:
            costs = use.sum(0) - use
            costs += 1
            costs *= self._slopes[:, None]
            costs += self._offsets[:, None]
        else:
            num_players, num_resources, num_runs = use.shape
            use = use.reshape(num_players, -1)
            values = np.repeat(self.latencies.T, num_runs, axis=1)
            costs = expected_by_counts(values[None], np.stack([use, 1 - use]))[0]
            costs = costs.reshape(num_players, num_resources, num_runs)
        return (self._uses @ costs).swapaxes(0, 1)

    def outcomes(self, policies: FloatArray) -> dict[str, FloatArray]:
        """The potential."""
        use = self._use(policies)
        if self.affine:
            mean = use.sum(0)
            square = (use * (1 - use)).sum(0) + mean**2
            return {"potential": self._slopes @ (square + mean) / 2 + self._offsets @ mean}
        totals = np.pad(self.latencies.cumsum(1), ((0, 0), (1, 0)))
        return {"potential": np.einsum("krb,rk->b", count_distribution(use), totals)}

    def _use(self, policies: FloatArray) -> FloatArray:
        """Probabilities of use, (num_players, num_resources, num_runs)."""
        return self._uses.swapaxes(1, 2) @ policies.swapaxes(0, 1)


def random_congestion(
    num_players: int = 10,
    num_resources: int = 5,
    *,
    num_strategies: int | None = None,
    strategy_size: int = 1,
    degree: int = 1,
    seed: int = 0,
) -> CongestionGame:
    """A congestion game with latencies a_r (k/N)^degree + b_r, a and b uniform on [0, 1].

    Latencies are divided so that the losses' range is 1.

    Args:
        num_players: N.
        num_resources: R.
        num_strategies: how many strategies each player has, drawn at random, its own for each; None:
            everyone may choose any one resource.
        strategy_size: resources of a drawn strategy.
        degree: 1 for affine latencies.
        seed: of all that is random.

    Raises:
        ValueError: if a number is below 1, or a strategy is larger than all resources.
    """
    rng = np.random.default_rng(at_least("seed", seed, 0))
    num_players, num_resources = (
        at_least("num_players", num_players, 1),
        at_least("num_resources", num_resources, 1),
    )
    slopes, offsets = rng.random((2, num_resources, 1))
    load = np.arange(1, num_players + 1) / num_players
    latencies = slopes * load ** at_least("degree", degree, 1) + offsets
    strategies = None
    if num_strategies is not None:
        if at_least("strategy_size", strategy_size, 1) > num_resources:
            raise ValueError(f"strategy_size {strategy_size} exceeds num_resources {num_resources}")
        count = at_least("num_strategies", num_strategies, 1)
        strategies = [
            [rng.choice(num_resources, strategy_size, replace=False).tolist() for _ in range(count)]
            for _ in range(num_players)
        ]
    scale = CongestionGame(latencies, strategies).loss_scale
    return CongestionGame(latencies / scale if scale else latencies, strategies)


def braess(num_players: int = 10, *, shortcut: bool = True) -> CongestionGame:
    """Braess's network: with the shortcut every driver is worse off (Braess 1968).

    Roads s→a and b→t cost k/N, s→b and a→t cost 1, the shortcut a→b nothing. Everyone goes s→a→t or
    s→b→t, or s→a→b→t where there is the shortcut; at equilibrium a driver loses 1.5 without it and 2 with.

    Raises:
        ValueError: if `num_players` is below 1.
    """
    load = np.arange(1, at_least("num_players", num_players, 1) + 1) / num_players
    ones = np.ones(num_players)
    paths = [[0, 1], [2, 3]] + [[0, 4, 3]] * shortcut
    return CongestionGame([load, ones, ones, load, 0 * load], [paths] * num_players)
