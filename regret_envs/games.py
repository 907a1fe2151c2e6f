"""Repeated normal-form games, and a library of named ones.

Payoffs are utilities, as game theory writes them; the losses that agents see are their negatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from regret_envs.aggregative import PublicGoods, minority
from regret_envs.auctions import first_price_auction, second_price_auction
from regret_envs.blotto import ColonelBlotto
from regret_envs.congestion import braess, random_congestion
from regret_envs.polymatrix import random_polymatrix
from regret_envs.registry import lookup
from regret_envs.worlds import FloatArray, RunSeeds, at_least
from regret_envs.worlds import Game as Game
from regret_envs.worlds import GameEpisode as GameEpisode


def expected_losses(losses: Sequence[FloatArray], policies: Sequence[FloatArray]) -> list[FloatArray]:
    """Every player's expected loss of each of its actions against the others' product play.

    ℓ_n(i) = E_{a_{−n} ~ ⊗_{m≠n} π_m}[loss_n(i, a_{−n})].

    Args:
        losses: one array a player, of shape (d_0, …, d_{N−1}), or (d_0, …, d_{N−1}, num_runs)
            where every run has a game of its own.
        policies: one array (num_runs, d_n) a player; fastest with the runs contiguous.

    Returns:
        One array (num_runs, d_n) a player, runs contiguous.
    """
    if len(policies) == 2 and losses[0].ndim == 2:
        # On small matrices `dot` takes half the time of `@`.
        return [losses[0].dot(policies[1].T).T, losses[1].T.dot(policies[0].T).T]
    num_players = len(policies)
    expected = []
    for player in range(num_players):
        others = [m for m in range(num_players) if m != player]
        runs = losses[player].shape[num_players:]
        # Axes: own action, the others' actions, and the runs if there are any.
        rest = np.moveaxis(losses[player], player, 0)
        for m in reversed(others):
            if runs:
                rest = np.einsum("...kr,kr->...r", rest, policies[m].T)
            else:
                rest, runs = rest @ policies[m].T, (len(policies[m]),)
        if not others:
            rest = np.broadcast_to(rest.reshape(len(rest), -1), (len(rest), len(policies[0])))
        expected.append(rest.T)
    return expected


_FEW_ACTIONS = 8


class TensorEpisode(GameEpisode):
    """Play of one game a batch, or of one game a run, given by its arrays.

    Attributes:
        losses: one array a player, as in `expected_losses`.
    """

    def __init__(self, losses: Sequence[FloatArray]) -> None:
        self.losses = losses
        self._both: FloatArray | None = None

    def step(self, policies: Sequence[FloatArray]) -> list[FloatArray]:
        """Expected losses against the others' policies."""
        return expected_losses(self.losses, policies)

    def step_stacked(self, policies: FloatArray) -> FloatArray:
        """As in the base class; two players of few actions by one product with [[0, ℓ_0], [ℓ_1ᵀ, 0]]."""
        d = len(policies)
        if self._both is None and (policies.shape[1] != 2 or self.losses[0].ndim != 2 or d > _FEW_ACTIONS):
            return super().step_stacked(policies)
        if self._both is None:
            self._both = np.zeros((d, 2, d, 2))
            self._both[:, 0, :, 1], self._both[:, 1, :, 0] = self.losses[0], self.losses[1].T
        return self._both.reshape(2 * d, -1).dot(policies.reshape(2 * d, -1)).reshape(policies.shape)


class NormalFormGame(Game):
    """A game of N players given by its payoff arrays.

    Args:
        payoffs: N arrays of one shape (d_0, …, d_{N−1}): the utility of each player at every
            action profile.
        name: shown by `repr`.

    Attributes:
        losses: the negated payoffs, float64, read-only.

    Raises:
        ValueError: if there is no array, one is not of numbers, the number of axes is not the number
            of players, shapes differ or an entry is not finite; the message says which array.
    """

    def __init__(self, payoffs: Sequence[npt.ArrayLike], *, name: str = "game") -> None:
        arrays = [_numbers(payoff, f"payoffs[{player}]") for player, payoff in enumerate(payoffs)]
        if not arrays:
            raise ValueError("payoffs must hold one array a player, got none")
        for player, array in enumerate(arrays):
            if array.shape != arrays[0].shape:
                raise ValueError(
                    f"payoffs[{player}] has shape {array.shape}, payoffs[0] has {arrays[0].shape}: "
                    "every player's array must have the same shape (d_0, …, d_{N−1})"
                )
            if array.ndim != len(arrays) or array.size == 0:
                raise ValueError(
                    f"payoffs[{player}] has shape {array.shape}: {len(arrays)} arrays make a game of "
                    f"{len(arrays)} players, so each needs {len(arrays)} axes of at least one action"
                )
            if not np.isfinite(array).all():
                where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
                raise ValueError(f"payoffs[{player}] is not finite at action profile {where}: {array[where]}")
        self.num_actions = arrays[0].shape
        self.losses = tuple(-a for a in arrays)
        for array in self.losses:
            array.flags.writeable = False
        self.name = name
        self.loss_scale = float(max(a.max() - a.min() for a in arrays))

    @classmethod
    def zero_sum(cls, payoff: npt.ArrayLike, *, name: str = "zero-sum game") -> NormalFormGame:
        """Two players; `payoff` (d_0, d_1) is the row player's utility, the column player's is −payoff."""
        matrix = _matrix(payoff)
        return cls([matrix, -matrix], name=name)

    @classmethod
    def symmetric(cls, payoff: npt.ArrayLike, *, name: str = "symmetric game") -> NormalFormGame:
        """Two interchangeable players; `payoff` (d, d) is the row player's, its transpose the other's.

        Raises:
            ValueError: if `payoff` is not square.
        """
        matrix = _matrix(payoff)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"a symmetric game needs a square payoff matrix, got shape {matrix.shape}")
        return cls([matrix, matrix.T], name=name)

    @property
    def payoffs(self) -> tuple[FloatArray, ...]:
        """The utilities, one array (d_0, …, d_{N−1}) a player."""
        return tuple(-a for a in self.losses)

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> TensorEpisode:
        """Begin an episode; nothing in it is random."""
        self.seats(num_agents)
        return TensorEpisode(self.losses)

    def __repr__(self) -> str:
        return f"<{self.name}, {' × '.join(map(str, self.num_actions))} actions>"


def _numbers(payoff: npt.ArrayLike, name: str) -> FloatArray:
    """A float64 copy, or a `ValueError` that names the array."""
    try:
        array = np.asarray(payoff)
        # NumPy would read text as numbers and drop imaginary parts. Objects may be fractions.
        if array.dtype.kind not in "fiubO":
            raise TypeError(f"its entries are of type {array.dtype}")
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of numbers: {error}") from error


def _matrix(payoff: npt.ArrayLike) -> FloatArray:
    matrix = _numbers(payoff, "the payoff matrix")
    if matrix.ndim != 2:
        raise ValueError(f"the payoff matrix must have two axes, got shape {matrix.shape}")
    return matrix


PayoffLaw = Literal["uniform", "gaussian"]


def random_payoffs(
    num_actions: Sequence[int],
    *,
    rng: np.random.Generator,
    law: PayoffLaw = "uniform",
    correlation: float = 0.0,
) -> list[FloatArray]:
    """Independent payoffs at every action profile, correlated between the players if asked.

    Args:
        num_actions: one number of actions a player.
        rng: the generator.
        law: "uniform" on [−1, 1], or "gaussian", N(0, 1).
        correlation: ρ between any two players' Gaussian payoffs at the same profile, from
            −1/(N−1) (with two players −1: zero-sum) to 1 (common interest). The "covariant game"
            of GAMUT (Nudelman, Wortman, Shoham and Leyton-Brown 2004).

    Returns:
        One array (d_0, …, d_{N−1}) a player.

    Raises:
        ValueError: if there is no player, the law is unknown, or the correlation out of range or asked
            of uniform payoffs.
        TensorSizeError: if the arrays would not fit; names their size.
    """
    shape = (len(num_actions), *(at_least("num_actions", d, 1) for d in num_actions))
    if len(num_actions) == 0:
        raise ValueError("num_actions must hold one number of actions a player, got none")
    check_size(num_actions)
    lowest = -1.0 / max(len(num_actions) - 1, 1)
    if not lowest <= correlation <= 1:
        raise ValueError(
            f"correlation must lie in [{lowest:g}, 1] for {len(num_actions)} players, got {correlation}"
        )
    if law == "gaussian":
        z = rng.standard_normal(shape)
        # Covariance (1 − ρ) I + ρ 11ᵀ: shrink the players' mean and their deviations from it apart.
        mean = z.mean(0, keepdims=True)
        count = len(num_actions)
        return list(np.sqrt(1 - correlation) * (z - mean) + np.sqrt(1 + (count - 1) * correlation) * mean)
    if law != "uniform":
        raise ValueError(f"law must be 'uniform' or 'gaussian', got {law!r}")
    if correlation:
        raise ValueError("correlation needs law='gaussian'")
    return list(rng.uniform(-1.0, 1.0, shape))


def random_game(
    num_actions: Sequence[int], *, seed: int = 0, law: PayoffLaw = "uniform", correlation: float = 0.0
) -> NormalFormGame:
    """One seeded random game; arguments and errors as in `random_payoffs`."""
    payoffs = random_payoffs(num_actions, rng=np.random.default_rng(seed), law=law, correlation=correlation)
    return NormalFormGame(payoffs, name=f"random game {seed}")


class RandomGames(Game):
    """A random game of its own for every run; arguments and errors as in `random_payoffs`."""

    def __init__(
        self, num_actions: Sequence[int], *, law: PayoffLaw = "uniform", correlation: float = 0.0
    ) -> None:
        random_payoffs(num_actions, rng=np.random.default_rng(0), law=law, correlation=correlation)
        self.num_actions = tuple(num_actions)
        self.law: PayoffLaw = law
        self.correlation = correlation
        self.loss_scale = 2.0 if law == "uniform" else 1.0

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> TensorEpisode:
        """Begin an episode: draw every run's game.

        Raises:
            TensorSizeError: if the runs' arrays together would not fit; names their size.
        """
        self.seats(num_agents)
        check_size(self.num_actions, seeds.num_runs)
        losses = [np.empty((*self.num_actions, seeds.num_runs)) for _ in self.num_actions]
        for run, rng in enumerate(seeds.world()):
            drawn = random_payoffs(self.num_actions, rng=rng, law=self.law, correlation=self.correlation)
            for loss, payoff in zip(losses, drawn, strict=True):
                np.negative(payoff, out=loss[..., run])
        return TensorEpisode(losses)

    def __repr__(self) -> str:
        return f"<{self.law} random games, {' × '.join(map(str, self.num_actions))} actions>"


def normal_form(game: Game) -> NormalFormGame:
    """A game by its arrays: what every player loses at every action profile.

    Raises:
        TensorSizeError: if the arrays would not fit; names their size.
    """
    check_size(game.num_actions)
    profiles = np.indices(game.num_actions).reshape(game.num_players, -1)
    episode = game.start(num_agents=game.num_players, horizon=1, seeds=RunSeeds(0, profiles.shape[1]))
    policies = [np.eye(d)[:, chosen].T for d, chosen in zip(game.num_actions, profiles, strict=True)]
    losses = [
        loss[np.arange(len(loss)), chosen].reshape(game.num_actions)
        for loss, chosen in zip(episode.step(policies), profiles, strict=True)
    ]
    return NormalFormGame([-loss for loss in losses], name=f"normal form of {game!r}")


class TensorSizeError(ValueError):
    """A game's arrays would not fit in memory."""


def check_size(num_actions: Sequence[int], num_games: int = 1) -> None:
    """Raise `TensorSizeError` if an array (d_0, …, d_{N−1}) a player and game takes over 4 GiB in all."""
    size = 8 * len(num_actions) * math.prod(int(d) for d in num_actions) * num_games
    if size > 1 << 32:
        shape = " × ".join(map(str, num_actions)) if len(num_actions) <= 8 else f"{len(num_actions)} axes"
        runs = f"in each of {num_games} runs, " if num_games > 1 else ""
        raise TensorSizeError(
            f"the payoffs of {len(num_actions)} players, an array of {shape} each, {runs}would take "
            f"{size / (1 << 30):.3g} GiB: congestion, polymatrix, auction and other structured games do "
            "without arrays"
        )


def weighted_rps(weights: Sequence[float] = (3, 2, 1), scale: float = 1 / 3) -> NormalFormGame:
    """Weighted rock–paper–scissors, zero-sum.

    The row player's utility is scale · [[0, −w₃, w₂], [w₃, 0, −w₁], [−w₂, w₁, 0]]; the equilibrium
    marginal of (rock, paper, scissors) is proportional to the weights, (3, 2, 1)/6 by default,
    where the largest payoff is 1.

    Raises:
        ValueError: if there are not three positive weights or the scale is not positive.
    """
    if len(weights) != 3 or not all(np.isfinite(w) and w > 0 for w in weights):
        raise ValueError(f"weights must be three positive numbers, got {weights!r}")
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"scale must be positive, got {scale!r}")
    w1, w2, w3 = weights
    payoff = scale * np.array([[0, -w3, w2], [w3, 0, -w1], [-w2, w1, 0]], dtype=np.float64)
    return NormalFormGame.zero_sum(payoff, name="weighted rock–paper–scissors")


def rock_paper_scissors() -> NormalFormGame:
    """Rock–paper–scissors: 1 for a win, −1 for a loss; the equilibrium is uniform."""
    return NormalFormGame.zero_sum([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], name="rock–paper–scissors")


def matching_pennies() -> NormalFormGame:
    """Matching pennies: the row player wants to match; the equilibrium is uniform."""
    return NormalFormGame.zero_sum([[1, -1], [-1, 1]], name="matching pennies")


def prisoners_dilemma() -> NormalFormGame:
    """The prisoner's dilemma, actions (cooperate, defect); defection is dominant."""
    return NormalFormGame.symmetric([[3, 0], [5, 1]], name="prisoner's dilemma")


def chicken() -> NormalFormGame:
    """Chicken, actions (dare, chicken): a correlated equilibrium pays both more than the mixed one.

    Payoffs of Aumann's 1974 example: (0, 0), (7, 2), (2, 7), (6, 6).
    """
    return NormalFormGame.symmetric([[0, 7], [2, 6]], name="chicken")


def stag_hunt() -> NormalFormGame:
    """The stag hunt, actions (stag, hare): one payoff-dominant and one risk-dominant equilibrium."""
    return NormalFormGame.symmetric([[4, 0], [3, 3]], name="stag hunt")


def battle_of_the_sexes() -> NormalFormGame:
    """Battle of the sexes: two pure equilibria, each preferred by another player."""
    return NormalFormGame([[[3, 0], [0, 2]], [[2, 0], [0, 3]]], name="battle of the sexes")


def deng_schneider_sivan(margin: float = 0.04) -> NormalFormGame:
    """The game of Deng, Schneider and Sivan (2019) in which it pays to know that the other learns.

    Actions of player 0 (up, down), of player 1 (left, middle, right); payoffs with γ = `margin`:

        up     (0, √γ)   (−2, −1)   (−2, 0)
        down   (0, −1)   (−2,  1)   ( 2, 0)

    The Stackelberg value of player 0 is 0. If player 1 plays what did best on average, up in the first
    half makes it play left, and down in the second makes it play right for nearly all that time, which
    pays player 0 about 1 − √γ a round ("Strategizing against No-Regret Learners", NeurIPS 2019).

    Args:
        margin: γ, above 0 and below 1.

    Raises:
        ValueError: if it is not.
    """
    if not 0 < margin < 1:
        raise ValueError(f"margin must be above 0 and below 1, got {margin!r}")
    payoffs = [[[0, -2, -2], [0, -2, 2]], [[np.sqrt(margin), -1, 0], [-1, 1, 0]]]
    return NormalFormGame(payoffs, name=f"Deng, Schneider and Sivan's game, margin {margin:g}")


def shapley() -> NormalFormGame:
    """Shapley's game (1964), in which fictitious play cycles for ever; the equilibrium is uniform."""
    row = np.eye(3)
    return NormalFormGame([row, np.roll(row, 1, axis=1)], name="Shapley's game")


def jordan() -> NormalFormGame:
    """Jordan's three-player matching pennies (1993): 0 matches 1, 1 matches 2, 2 mismatches 0."""
    a = np.indices((2, 2, 2))
    payoffs = [np.where(a[0] == a[1], 1, -1), np.where(a[1] == a[2], 1, -1), np.where(a[2] != a[0], 1, -1)]
    return NormalFormGame(payoffs, name="Jordan's game")


NAMED_GAMES: dict[str, Callable[..., Game]] = {
    "weighted_rps": weighted_rps,
    "rock_paper_scissors": rock_paper_scissors,
    "matching_pennies": matching_pennies,
    "prisoners_dilemma": prisoners_dilemma,
    "chicken": chicken,
    "stag_hunt": stag_hunt,
    "battle_of_the_sexes": battle_of_the_sexes,
    "deng_schneider_sivan": deng_schneider_sivan,
    "shapley": shapley,
    "jordan": jordan,
    "random_game": random_game,
    "random_games": RandomGames,
    "congestion": random_congestion,
    "braess": braess,
    "polymatrix": random_polymatrix,
    "blotto": ColonelBlotto,
    "first_price_auction": first_price_auction,
    "second_price_auction": second_price_auction,
    "public_goods": PublicGoods,
    "minority": minority,
}


def make(name: str, **settings: Any) -> Game:
    """The named game with its settings, e.g. `make("weighted_rps", weights=(1, 2, 3))`.

    Raises:
        UnknownNameError: if there is no such game; lists the near matches.
        TypeError: if the game has no such setting.
    """
    return lookup("game", name, NAMED_GAMES)(**settings)
