"""Colonel Blotto: troops divided among battlefields."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.games.auctions import win_probabilities
from regret_envs.games.structured import StructuredGame
from regret_envs.validation import at_least
from regret_envs.worlds import Bounds


def divisions(troops: int, num_battlefields: int) -> IntArray:
    """Every way to divide `troops` among battlefields, shape (C(troops + K − 1, K − 1), K)."""
    ways = list(combinations(range(troops + num_battlefields - 1), num_battlefields - 1))
    bars = np.array(ways, dtype=int).reshape(len(ways), num_battlefields - 1)
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, troops + num_battlefields - 1)))
    return np.diff(edges, axis=1) - 1


class ColonelBlotto(StructuredGame):
    """Every player divides its troops among battlefields; the most troops win one, ties share it equally.

    A player's loss is minus the value it wins. Only the marginal distribution on each battlefield
    matters, so expected losses take O(d K) instead of the d^N profiles (Borel 1921; Roberson, "The
    Colonel Blotto Game", 2006).

    Args:
        troops: how many troops each player has, at least two players.
        battlefields: the battlefields' values to all, shape (K,), or to each player, shape
            (num_players, K); not negative.

    Attributes:
        divisions: one int array (d_n, K) per player, the troops on each battlefield.

    Raises:
        ValueError: if there are fewer than two players or no battlefield, a number of troops is negative,
            or the values are negative, not finite or of another shape.
    """

    def __init__(self, troops: Sequence[int] = (6, 6), battlefields: npt.ArrayLike = (1, 1, 1)) -> None:
        self.troops = tuple(at_least(f"troops[{n}]", t, 0) for n, t in enumerate(troops))
        if len(self.troops) < 2:
            raise ValueError(f"Colonel Blotto needs at least two players' troops, got {troops!r}")
        values = np.array(battlefields, dtype=np.float64)
        if (
            values.ndim not in (1, 2)
            or values.size == 0
            or not (values.min() >= 0 and np.isfinite(values).all())
        ):
            raise ValueError(
                f"battlefields must be finite values that are not negative, got {battlefields!r}"
            )
        if values.ndim == 2 and len(values) != len(self.troops):
            raise ValueError(f"battlefields has {len(values)} rows for {len(self.troops)} players")
        num_battlefields = values.shape[-1]
        self.values = np.broadcast_to(values, (len(self.troops), num_battlefields))
        self.divisions = tuple(divisions(t, num_battlefields) for t in self.troops)
        self.num_actions = tuple(map(len, self.divisions))
        self.loss_scale = float(self.values.sum(1).max())
        # Entry [n, i, level · K + k]: whether player n's division i has that many troops on battlefield k.
        levels = max(self.troops) + 1
        on = np.zeros((len(self.troops), max(self.num_actions), levels, num_battlefields))
        for n, own in enumerate(self.divisions):
            rows = np.arange(len(own))[:, None]
            on[n, rows, own, np.arange(num_battlefields)] = 1.0
        self._on = on.reshape(*on.shape[:2], -1)

    def loss_bounds(self, player: int) -> Bounds:
        """Winning all battlefields, and none."""
        return -float(self.values[player].sum()), 0.0

    def expected_losses(self, policies: FloatArray) -> FloatArray:
        """As in the base class, by the chance of winning each battlefield with each number of troops."""
        marginals = self._on.swapaxes(1, 2) @ policies.swapaxes(0, 1)
        num_players, _, num_runs = marginals.shape
        shape = (num_players, max(self.troops) + 1, -1, num_runs)
        _, wins = win_probabilities(marginals.reshape(shape).swapaxes(0, 1))
        won = wins.swapaxes(0, 1) * self.values[:, None, :, None]
        return -(self._on @ won.reshape(marginals.shape)).swapaxes(0, 1)
