"""Games from Gambit's files (Savani and Turocy, "Gambit: The package for computation in game theory")."""

from __future__ import annotations

import hashlib
import itertools
from functools import cached_property
from pathlib import Path

import numpy as np

from regret_envs.games.tensor import NormalFormGame


class FileGame(NormalFormGame):
    """A game that was read from a file."""

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the losses: the same game, the same hash, whatever the file is called."""
        digest = hashlib.sha256(repr(self.num_actions).encode())
        for losses in self.losses:
            digest.update(losses.astype("<f8").tobytes())
        return digest.hexdigest()


def read_nfg(path: str | Path, *, payoff_range: float | None = None) -> FileGame:
    """The game of a strategic-form file, `.nfg`, as Gambit and GAMUT write them.

    Both forms of the format are read, payoffs and outcomes (the null outcome pays 0); payoffs are integers,
    decimals or fractions, rounded to float64 once. The title's first line becomes the game's name.

    Args:
        path: the file.
        payoff_range: payoffs are divided so that the widest range of a player's becomes this; 2 is what
            the agents' default step sizes are for. None: as in the file.

    Raises:
        ImportError: if pygambit is not installed.
        OSError: if the file cannot be read.
        ValueError: if it is not such a file; says which file, and where in it the fault lies.
    """
    try:
        import pygambit
    except ImportError as error:
        raise ImportError(
            'Gambit files are read by pygambit: pip install "regret-envs[gambit]" (it is built from source, '
            "with a C++ compiler)"
        ) from error
    with open(path, "rb") as file:
        try:
            game = pygambit.read_nfg(file)
        except ValueError as error:
            raise ValueError(f"{path} is not a game in Gambit's .nfg format: {error}") from error
    shape = tuple(len(player.strategies) for player in game.players)
    payoffs = np.zeros((len(shape), *shape))
    for profile in itertools.product(*map(range, shape)):
        outcome = game[profile]
        if outcome is not None:
            for player, payoff in zip(game.players, payoffs, strict=True):
                payoff[profile] = float(outcome[player])
    widest = np.ptp(payoffs.reshape(len(shape), -1), axis=1).max()
    if payoff_range is not None and widest > 0:
        payoffs *= payoff_range / widest
    return FileGame(list(payoffs), name=(game.title.split("\n")[0] or Path(path).stem)[:60])
