"""Normal-form games to and from OpenSpiel (Lanctot et al. 2019), which is imported when asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from regret_envs.games.tensor import NormalFormGame


def from_openspiel(game: Any) -> NormalFormGame:
    """The game of a `pyspiel.MatrixGame` or `pyspiel.TensorGame`.

    Args:
        game: such a game, or the name of one, `"matrix_pd"`.

    Raises:
        ImportError: if OpenSpiel is not installed.
        TypeError: for another kind of game; says how to make a normal form of it.
        pyspiel.SpielError: if there is no game of that name.
    """
    pyspiel = _pyspiel()
    if isinstance(game, str):
        game = pyspiel.load_game(game)
    if not isinstance(game, (pyspiel.MatrixGame, pyspiel.TensorGame)):
        raise TypeError(
            f"{game} is not a matrix or tensor game: pyspiel.extensive_to_tensor_game makes one of a small "
            "game in extensive form"
        )
    payoffs = [np.array(game.player_utilities(player)) for player in range(game.num_players())]
    return NormalFormGame(payoffs, name=game.get_type().short_name)


def to_openspiel(game: NormalFormGame) -> Any:
    """The game as a `pyspiel.MatrixGame` (two players) or `pyspiel.TensorGame`.

    Raises:
        ImportError: if OpenSpiel is not installed.
    """
    pyspiel = _pyspiel()
    if game.num_players == 2:
        return pyspiel.create_matrix_game(*(payoff.tolist() for payoff in game.payoffs))
    return pyspiel.create_tensor_game([payoff.ravel() for payoff in game.payoffs], game.num_actions)


def _pyspiel() -> Any:
    try:
        import pyspiel
    except ImportError as error:
        raise ImportError("OpenSpiel is not installed: pip install open_spiel") from error
    return pyspiel
