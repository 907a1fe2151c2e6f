"""Repeated games: normal-form games, and structured games with many players.

Payoffs are utilities, as game theory writes them; the losses that agents see are their negatives.
"""

from regret_envs.games.aggregative import PublicGoods, minority
from regret_envs.games.auctions import first_price_auction, second_price_auction
from regret_envs.games.blotto import ColonelBlotto
from regret_envs.games.congestion import braess, random_congestion
from regret_envs.games.named import (
    NAMED_GAMES,
    battle_of_the_sexes,
    chicken,
    deng_schneider_sivan,
    jordan,
    make,
    matching_pennies,
    prisoners_dilemma,
    rock_paper_scissors,
    shapley,
    stag_hunt,
    weighted_rps,
)
from regret_envs.games.own import OwnGame, own_game
from regret_envs.games.polymatrix import random_polymatrix
from regret_envs.games.random_games import PayoffLaw, RandomGames, random_game, random_payoffs
from regret_envs.games.tensor import (
    NormalFormGame,
    TensorEpisode,
    TensorSizeError,
    check_size,
    expected_losses,
    normal_form,
)
from regret_envs.worlds import Game, GameEpisode

__all__ = [
    "NAMED_GAMES",
    "ColonelBlotto",
    "Game",
    "GameEpisode",
    "NormalFormGame",
    "OwnGame",
    "PayoffLaw",
    "PublicGoods",
    "RandomGames",
    "TensorEpisode",
    "TensorSizeError",
    "battle_of_the_sexes",
    "braess",
    "check_size",
    "chicken",
    "deng_schneider_sivan",
    "expected_losses",
    "first_price_auction",
    "jordan",
    "make",
    "matching_pennies",
    "minority",
    "normal_form",
    "own_game",
    "prisoners_dilemma",
    "random_congestion",
    "random_game",
    "random_payoffs",
    "random_polymatrix",
    "rock_paper_scissors",
    "second_price_auction",
    "shapley",
    "stag_hunt",
    "weighted_rps",
]
