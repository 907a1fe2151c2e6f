"""Sealed-bid auctions of one object on a grid of bids, with ties broken uniformly."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray
from regret_envs.games.structured import StructuredGame, leave_one_out_product
from regret_envs.validation import at_least
from regret_envs.worlds import Bounds


def win_probabilities(policies: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of every player at every level: that all others are below, and that it wins, ties broken uniformly.

    With F_m(<b) and p_m(b) the others' probabilities of less than b and of b, and K the number of others
    at b when none is above, E[1 / (1 + K); none above] = ∫_0^1 Π_{m≠n} (F_m(<b) + p_m(b) z) dz: a
    polynomial of degree N − 1, which Gauss–Legendre quadrature with ⌈N/2⌉ nodes integrates exactly.

    Args:
        policies: shape (num_levels, num_players, ...), levels in rising order.

    Returns:
        Two arrays of that shape.
    """
    below = np.zeros_like(policies)
    np.cumsum(policies[:-1], axis=0, out=below[1:])
    players_first, own = below.swapaxes(0, 1), policies.swapaxes(0, 1)
    nodes, weights = np.polynomial.legendre.leggauss((len(own) + 1) // 2)
    wins = np.zeros_like(players_first)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        wins += weight * leave_one_out_product(players_first + node * own)
    return leave_one_out_product(players_first).swapaxes(0, 1), wins.swapaxes(0, 1)


class Auction(StructuredGame):
    """One object for sale to the highest bid; values are known and the loser pays nothing.

    Outcomes, in expectation: "revenue", what the winner pays, and "efficiency", the winner's value over
    the largest.

    Args:
        values: what the object is worth to each player, at least two; not negative, one positive.
        bids: the bids that can be made, rising, not negative.
        budgets: the highest bid that each player can make; None: none is bounded.

    Raises:
        ValueError: if values, bids or budgets are not as above, or a player can make no bid.
    """

    outcome_names = ("revenue", "efficiency")

    def __init__(
        self, values: npt.ArrayLike, bids: npt.ArrayLike, *, budgets: Sequence[float] | None = None
    ) -> None:
        self.values = np.array(values, dtype=np.float64)
        self.bids = np.array(bids, dtype=np.float64)
        if self.values.ndim != 1 or len(self.values) < 2 or not (self.values.min() >= 0 < self.values.max()):
            raise ValueError(f"values must be at least two, not negative, one positive, got {values!r}")
        rising = (
            self.bids.ndim == 1 and self.bids.size and self.bids[0] >= 0 and (np.diff(self.bids) > 0).all()
        )
        if not (rising and np.isfinite(self.bids).all() and np.isfinite(self.values).all()):
            raise ValueError(f"bids must be finite, not negative and rising, got {bids!r}")
        limits = np.full(len(self.values), np.inf) if budgets is None else np.array(budgets, dtype=np.float64)
        if limits.shape != self.values.shape:
            raise ValueError(f"there are {len(self.values)} values and {limits.size} budgets")
        self.num_actions = tuple(int((self.bids <= limit).sum()) for limit in limits)
        if 0 in self.num_actions:
            poor = self.num_actions.index(0)
            raise ValueError(
                f"player {poor} can make no bid: its budget {limits[poor]} is below {self.bids[0]}"
            )
        highest = self.bids[np.array(self.num_actions) - 1]
        best, worst = np.maximum(self.values - self.bids[0], 0), np.minimum(self.values - highest, 0)
        self._bounds = [(float(-b), float(-w)) for b, w in zip(best, worst, strict=True)]
        self.loss_scale = float((best - worst).max())

    def loss_bounds(self, player: int) -> Bounds:
        """Winning at the least bid, and winning at the highest where that is above the value."""
        return self._bounds[player]

    @abstractmethod
    def _payments(self, below: FloatArray, wins: FloatArray) -> FloatArray:
        """What every player pays in expectation at every bid, of the shape of the arguments."""

    def _results(self, policies: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of winning and expected payments of every player at every bid."""
        below, wins = win_probabilities(policies)
        return wins, self._payments(below, wins)

    def expected_losses(self, policies: FloatArray) -> FloatArray:
        """As in the base class: what is paid, less the value where the player wins."""
        wins, payments = self._results(policies)
        return payments - self.values[:, None] * wins

    def outcomes(self, policies: FloatArray) -> dict[str, FloatArray]:
        """Revenue and efficiency."""
        wins, payments = self._results(policies)
        welfare = np.einsum("inb,inb,n->b", policies, wins, self.values)
        return {
            "revenue": np.einsum("inb,inb->b", policies, payments),
            "efficiency": welfare / self.values.max(),
        }


class FirstPriceAuction(Auction):
    """The winner pays its bid; arguments, outcomes and errors as in `Auction`."""

    def _payments(self, below: FloatArray, wins: FloatArray) -> FloatArray:
        return self.bids[: len(wins), None, None] * wins


class SecondPriceAuction(Auction):
    """The winner pays the highest of the others' bids; arguments, outcomes and errors as in `Auction`."""

    def _payments(self, below: FloatArray, wins: FloatArray) -> FloatArray:
        bids = self.bids[: len(wins), None, None]
        # Below b, the others' highest is b' with a probability that is a difference of `below`; one pays
        # it. Winning a tie, one pays b.
        paid = np.zeros_like(wins)
        np.cumsum(bids[:-1] * np.diff(below, axis=0), axis=0, out=paid[1:])
        return paid + bids * (wins - below)


def _random_values(num_players: int, seed: int) -> FloatArray:
    return np.random.default_rng(at_least("seed", seed, 0)).random(at_least("num_players", num_players, 2))


def first_price_auction(num_players: int = 3, num_bids: int = 11, *, seed: int = 0) -> FirstPriceAuction:
    """A first-price auction, values uniform on [0, 1], bids evenly spaced from 0 to 1.

    Raises:
        ValueError: if there are fewer than two players or bids.
    """
    return FirstPriceAuction(
        _random_values(num_players, seed), np.linspace(0, 1, at_least("num_bids", num_bids, 2))
    )


def second_price_auction(num_players: int = 3, num_bids: int = 11, *, seed: int = 0) -> SecondPriceAuction:
    """A second-price auction, values uniform on [0, 1], bids evenly spaced from 0 to 1.

    Raises:
        ValueError: if there are fewer than two players or bids.
    """
    return SecondPriceAuction(
        _random_values(num_players, seed), np.linspace(0, 1, at_least("num_bids", num_bids, 2))
    )
