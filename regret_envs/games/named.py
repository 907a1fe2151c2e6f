"""Named games, and the registry of them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from regret_envs.games.aggregative import PublicGoods, minority
from regret_envs.games.auctions import first_price_auction, second_price_auction
from regret_envs.games.blotto import ColonelBlotto
from regret_envs.games.congestion import braess, random_congestion
from regret_envs.games.own import own_game
from regret_envs.games.polymatrix import random_polymatrix
from regret_envs.games.random_games import RandomGames, random_game
from regret_envs.games.tensor import NormalFormGame
from regret_envs.names import make_named
from regret_envs.validation import at_least
from regret_envs.worlds import Game as Game
from regret_envs.worlds import GameEpisode as GameEpisode

_RPS = ("rock", "paper", "scissors")


def _named(game: NormalFormGame, *names: Sequence[str]) -> NormalFormGame:
    """The game with the names of its actions, every player's or one tuple for all."""
    names = names * game.num_players if len(names) == 1 else names
    game.action_names = tuple(map(tuple, names))
    return game


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
    return _named(NormalFormGame.zero_sum(payoff, name="weighted rock–paper–scissors"), _RPS)


def rock_paper_scissors() -> NormalFormGame:
    """Rock–paper–scissors: 1 for a win, −1 for a loss; the equilibrium is uniform."""
    payoff = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    return _named(NormalFormGame.zero_sum(payoff, name="rock–paper–scissors"), _RPS)


def matching_pennies() -> NormalFormGame:
    """Matching pennies: the row player wants to match; the equilibrium is uniform."""
    return _named(NormalFormGame.zero_sum([[1, -1], [-1, 1]], name="matching pennies"), ("heads", "tails"))


def prisoners_dilemma() -> NormalFormGame:
    """The prisoner's dilemma, actions (cooperate, defect); defection is dominant."""
    game = NormalFormGame.symmetric([[3, 0], [5, 1]], name="prisoner's dilemma")
    return _named(game, ("cooperate", "defect"))


def chicken() -> NormalFormGame:
    """Chicken, actions (dare, chicken): a correlated equilibrium pays both more than the mixed one.

    Payoffs of Aumann's 1974 example: (0, 0), (7, 2), (2, 7), (6, 6).
    """
    return _named(NormalFormGame.symmetric([[0, 7], [2, 6]], name="chicken"), ("dare", "chicken"))


def stag_hunt() -> NormalFormGame:
    """The stag hunt, actions (stag, hare): one payoff-dominant and one risk-dominant equilibrium."""
    return _named(NormalFormGame.symmetric([[4, 0], [3, 3]], name="stag hunt"), ("stag", "hare"))


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
    pays player 0 about 1 − √γ per round ("Strategizing against No-Regret Learners", NeurIPS 2019).

    Args:
        margin: γ, above 0 and below 1.

    Raises:
        ValueError: if it is not.
    """
    if not 0 < margin < 1:
        raise ValueError(f"margin must be above 0 and below 1, got {margin!r}")
    payoffs = [[[0, -2, -2], [0, -2, 2]], [[np.sqrt(margin), -1, 0], [-1, 1, 0]]]
    game = NormalFormGame(payoffs, name=f"Deng, Schneider and Sivan's game, margin {margin:g}")
    return _named(game, ("up", "down"), ("left", "middle", "right"))


def shapley(num_actions: int = 3) -> NormalFormGame:
    """Shapley's game (1964), in which fictitious play cycles forever; the equilibrium is uniform.

    Args:
        num_actions: of both players; Shapley's own has 3. Player 0 wants to match, player 1 to be one ahead.

    Raises:
        ValueError: if there are fewer than 2.
    """
    row = np.eye(at_least("num_actions", num_actions, 2))
    name = "Shapley's game" if num_actions == 3 else f"Shapley's game of {num_actions} actions"
    return NormalFormGame([row, np.roll(row, 1, axis=1)], name=name)


def jordan() -> NormalFormGame:
    """Jordan's three-player matching pennies (1993): 0 matches 1, 1 matches 2, 2 mismatches 0."""
    a = np.indices((2, 2, 2))
    payoffs = [np.where(a[0] == a[1], 1, -1), np.where(a[1] == a[2], 1, -1), np.where(a[2] != a[0], 1, -1)]
    return NormalFormGame(payoffs, name="Jordan's game")


NAMED_GAMES: dict[str, Callable[..., Game]] = {
    "normal_form": own_game,
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

    `make("normal_form", payoffs=...)` is a game of your own.

    Raises:
        UnknownNameError: if there is no such game; lists the near matches.
        TypeError: if the game has no such setting, or a setting that it needs is missing.
    """
    if name == "normal_form" and "payoffs" not in settings:
        raise ValueError(
            "the game 'normal_form' needs its payoffs: payoffs = [[...], [...]], one array per player, or "
            'payoffs = "file.npz"'
        )
    return make_named("game", name, NAMED_GAMES, settings)
