"""Games from Gambit's files (Savani and Turocy, "Gambit: The package for computation in game theory")."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.games.nfg import NfgError, NfgGame, parse_nfg
from regret_envs.games.own import OwnGame


def read_nfg(path: str | Path, *, payoff_range: float | None = None) -> OwnGame:
    """The game of a strategic-form file, `.nfg`, as Gambit and GAMUT write them.

    Both forms of the format are read, payoffs and outcomes (the null outcome pays 0); payoffs are integers,
    decimals or fractions, rounded to float64 once. The title's first line becomes the game's name. A file is
    parsed once per process.

    Args:
        path: the file.
        payoff_range: payoffs are divided so that the widest range of a player's becomes this; 2 is what
            the agents' default step sizes are for. None: as in the file.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not such a file; says which file, and where in it the fault lies.
    """
    try:
        game = _parsed(Path(path).read_bytes())
    except (NfgError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a game in Gambit's .nfg format: {error}") from error
    return _game(path, game.title, game.payoffs, game.strategies, payoff_range)


def read_efg(path: str | Path, *, payoff_range: float | None = None) -> OwnGame:
    """The reduced strategic form of an extensive game's file, `.efg`, by pygambit.

    Args:
        path: the file.
        payoff_range: as in `read_nfg`.

    Raises:
        ImportError: if pygambit is not installed.
        OSError: if the file cannot be read.
        ValueError: if it is not such a file.
    """
    try:
        import pygambit  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'Extensive games (.efg) are read by pygambit: pip install "regret-envs[gambit]" (it is built '
            "from source, with a C++ compiler)"
        ) from error
    try:
        title, payoffs, strategies = _reduced(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is not a game in Gambit's .efg format: {error}") from error
    return _game(path, title, payoffs, strategies, payoff_range)


@lru_cache(maxsize=8)
def _parsed(content: bytes) -> NfgGame:
    return parse_nfg(content.decode("utf-8-sig"))


@lru_cache(maxsize=8)
def _reduced(content: bytes) -> tuple[str, tuple[FloatArray, ...], tuple[tuple[str, ...], ...]]:
    import pygambit

    game = pygambit.read_efg(io.BytesIO(content))
    payoffs = tuple(np.array(array, dtype=np.float64) for array in game.to_arrays())
    strategies = tuple(tuple(str(s.label) for s in player.strategies) for player in game.players)
    return game.title, payoffs, strategies


def _game(
    path: str | Path,
    title: str,
    payoffs: Sequence[FloatArray],
    strategies: Sequence[Sequence[str]],
    payoff_range: float | None,
) -> OwnGame:
    name = (title.split("\n")[0] or Path(path).stem)[:60]
    return OwnGame(payoffs, name=name, action_names=strategies, payoff_range=payoff_range)
