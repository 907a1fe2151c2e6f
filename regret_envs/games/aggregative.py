"""Games in which only how many, or how much, matters: public goods and anonymous games."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray
from regret_envs.games.counting import count_distribution, expected_by_counts
from regret_envs.games.structured import StructuredGame
from regret_envs.validation import at_least
from regret_envs.worlds import Bounds


class PublicGoods(StructuredGame):
    """Contributions to a common pot that is multiplied and shared equally.

    Player n contributes one of `num_levels[n]` evenly spaced amounts c from 0 to its endowment; its loss is
    c − (multiplier / N) Σ_m c_m. For 1 < multiplier < N contributing nothing is dominant, and
    contributing everything is best for all. The outcomes are the total "contribution" and the exact
    "potential" (1 − multiplier / N) Σ_m c_m.

    Args:
        endowments: each player's endowment, positive.
        multiplier: what a contribution is multiplied by, positive.
        num_levels: how many amounts each player chooses among, at least 2.

    Raises:
        ValueError: if endowments or the multiplier are not positive, or there are not as many
            `num_levels` as endowments.
    """

    outcome_names = ("contribution", "potential")

    def __init__(
        self,
        endowments: Sequence[float] = (1.0, 1.0, 1.0),
        *,
        multiplier: float = 2.0,
        num_levels: int | Sequence[int] = 5,
    ) -> None:
        levels = [num_levels] * len(endowments) if isinstance(num_levels, int) else list(num_levels)
        if len(levels) != len(endowments) or not levels:
            raise ValueError(f"there are {len(endowments)} endowments and {len(levels)} numbers of levels")
        if not all(math.isfinite(e) and e > 0 for e in (*endowments, multiplier)):
            raise ValueError(
                f"endowments and multiplier must be positive, got {endowments!r}, {multiplier!r}"
            )
        self.num_actions = tuple(at_least("num_levels", d, 2) for d in levels)
        self.endowments = tuple(map(float, endowments))
        self.multiplier = float(multiplier)
        self._amounts = np.zeros((max(self.num_actions), len(levels), 1))
        for n, (endowment, d) in enumerate(zip(endowments, self.num_actions, strict=True)):
            self._amounts[:d, n, 0] = np.linspace(0, endowment, d)
        self._share = self.multiplier / len(levels)
        own, total = np.array(self.endowments), sum(self.endowments)
        self.loss_scale = float((abs(1 - self._share) * own + self._share * (total - own)).max())

    def loss_bounds(self, player: int) -> Bounds:
        """What keeping or giving all costs, less nothing or everything that the others give."""
        own = self.endowments[player]
        gained = self._share * (sum(self.endowments) - own)
        given = own * (1 - self._share)
        return min(given, 0.0) - gained, max(given, 0.0)

    def expected_losses(self, policies: FloatArray) -> FloatArray:
        """As in the base class, in closed form."""
        mean = (self._amounts * policies).sum(0)
        return self._amounts * (1 - self._share) - self._share * (mean.sum(0) - mean)

    def outcomes(self, policies: FloatArray) -> dict[str, FloatArray]:
        """Contribution and potential."""
        total = (self._amounts * policies).sum((0, 1))
        return {"contribution": total, "potential": (1 - self._share) * total}


class AnonymousGame(StructuredGame):
    """A symmetric game in which a player's loss depends on how many others chose each action.

    Expected losses take the dynamic program of `regret_envs.games.counting`, O(d N^d) instead of d^N (for
    two actions O(N²)); so few actions and many players (Daskalakis and Papadimitriou, "Computing
    Equilibria in Anonymous Games", FOCS 2007). With two actions it is a potential game, and the outcome
    "potential" the expectation of Φ(k) = Σ_{j<k} (loss of action 0 − loss of action 1, where j others chose
    0) with k players on action 0.

    Args:
        loss: a player's loss of action i where k_j others chose action j: called as loss(i, k) with k an
            int array (d,), summing to num_players − 1.
        num_players: N, at least 1.
        num_actions: d, at least 1.

    Raises:
        ValueError: if a number is too small, a loss is not finite, or the counts would not fit.
    """

    def __init__(
        self, loss: Callable[[int, npt.NDArray[np.int64]], float], num_players: int, num_actions: int
    ) -> None:
        at_least("num_players", num_players, 1)
        d, others = at_least("num_actions", num_actions, 1), num_players - 1
        if d * num_players**d > _MOST_CELLS:
            digits = math.log10(8 * d * num_players**d)
            raise ValueError(
                f"{num_players} players and {d} actions need about 10^{digits:.0f} bytes per run for the "
                "counts: an anonymous game is for few actions"
            )
        self.num_actions = (d,) * num_players
        self._losses = np.zeros((d,) + (num_players,) * (d - 1) + (1,))
        reached = []
        for counts in np.ndindex((num_players,) * (d - 1)):
            if sum(counts) <= others:
                k = np.array([*counts, others - sum(counts)])
                at = [float(loss(i, k)) for i in range(d)]
                self._losses[(slice(None), *counts, 0)] = at
                reached += at
        if not np.isfinite(reached).all():
            raise ValueError("loss(i, k) must be finite for all actions and counts")
        self._bounds = min(reached), max(reached)
        self.loss_scale = self._bounds[1] - self._bounds[0]
        if d == 2:
            self.outcome_names = ("potential",)

    def loss_bounds(self, player: int) -> Bounds:
        """The least and the greatest loss over actions and counts."""
        return self._bounds

    def expected_losses(self, policies: FloatArray) -> FloatArray:
        """As in the base class."""
        return expected_by_counts(self._losses, policies)

    def outcomes(self, policies: FloatArray) -> dict[str, FloatArray]:
        """The potential, where there are two actions."""
        if not self.outcome_names:
            return {}
        potential = np.pad((self._losses[0] - self._losses[1]).cumsum(0), ((1, 0), (0, 0)))
        return {"potential": (count_distribution(policies[0]) * potential).sum(0)}


_MOST_CELLS = 1 << 27


def minority(num_players: int = 11, num_actions: int = 2) -> AnonymousGame:
    """The El Farol or minority game: the loss is the share of the others who chose the same.

    Arthur, "Inductive Reasoning and Bounded Rationality", 1994; Challet and Zhang 1997.

    Raises:
        ValueError: if there are fewer than two players, or too many actions.
    """
    others = at_least("num_players", num_players, 2) - 1
    return AnonymousGame(lambda i, k: k[i] / others, num_players, num_actions)
