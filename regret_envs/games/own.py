"""Your own games: payoffs written down, or in a NumPy file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from regret_envs.games.tensor import NormalFormGame
from regret_envs.numpy_files import NpzArrays, read_npy


class OwnGame(NormalFormGame):
    """A game that was written down or read from a file.

    Args:
        payoffs: one array (d_0, …, d_{N−1}) per player.
        name: shown by `repr`.
        action_names: every player's names of actions; one list stands for all players; None: numbers.
        payoff_range: payoffs are divided so that the widest range of a player's becomes this; 2 is what
            the agents' default step sizes are for. None: as they are.

    Attributes:
        action_names: one tuple per player.

    Raises:
        ValueError: as in `NormalFormGame`, if the names are not one per action, or the range is not positive.
    """

    def __init__(
        self,
        payoffs: Sequence[npt.ArrayLike],
        *,
        name: str = "own payoffs",
        action_names: Sequence[str] | Sequence[Sequence[str]] | None = None,
        payoff_range: float | None = None,
    ) -> None:
        super().__init__(_scaled(payoffs, payoff_range), name=name)
        self.action_names = _names(action_names, self.num_actions)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the losses: the same game, the same hash, whatever the file is called."""
        digest = hashlib.sha256(repr(self.num_actions).encode())
        for losses in self.losses:
            digest.update(losses.astype("<f8").tobytes())
        return digest.hexdigest()


def own_game(
    payoffs: str | Path | Sequence[npt.ArrayLike],
    *,
    action_names: Sequence[str] | Sequence[Sequence[str]] | None = None,
    name: str = "own payoffs",
    payoff_range: float | None = None,
) -> OwnGame:
    """A game given by its payoffs: `games.make("normal_form", payoffs=...)`.

    Args:
        payoffs: one array (d_0, …, d_{N−1}) per player, or the path of an `.npz` file with one array per
            player in the order of the players, or of an `.npy` file with these arrays stacked.
        action_names: every player's names of actions; one list stands for all players.
        name: shown by `repr`.
        payoff_range: as in `OwnGame`.

    Raises:
        ValueError: if the payoffs are not those of a game, or the names not one per action.
        FileNotFoundError: if there is no such file.
    """
    if not isinstance(payoffs, (str, Path)):
        return OwnGame(payoffs, name=name, action_names=action_names, payoff_range=payoff_range)
    path = Path(payoffs)
    if path.suffix.lower() not in (".npz", ".npy"):
        raise ValueError(
            f'payoffs = "{payoffs}": an .npz or .npy file is needed; Gambit files are played by --game'
        )
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of payoffs at {path}")
    read = list(NpzArrays(path).values()) if path.suffix.lower() == ".npz" else _stacked(path)
    name = path.name if name == "own payoffs" else name
    return OwnGame(read, name=name, action_names=action_names, payoff_range=payoff_range)


def _stacked(path: Path) -> list[npt.NDArray[np.generic]]:
    array = read_npy(path)
    if array.ndim < 2 or array.size == 0:
        raise ValueError(f"{path.name} has no payoffs: it has shape {array.shape}, not (players, actions, …)")
    return list(array)


def _scaled(payoffs: Sequence[npt.ArrayLike], payoff_range: float | None) -> Sequence[npt.ArrayLike]:
    if payoff_range is None:
        return payoffs
    if not (np.isfinite(payoff_range) and payoff_range > 0):
        raise ValueError(f"payoff_range must be finite and positive, got {payoff_range!r}")
    game = NormalFormGame(payoffs)  # which checks them
    factor = payoff_range / game.loss_scale if game.loss_scale > 0 else 1.0
    return [payoff * factor for payoff in game.payoffs]


def _names(
    names: Sequence[str] | Sequence[Sequence[str]] | None, num_actions: tuple[int, ...]
) -> tuple[tuple[str, ...], ...]:
    if names is None:
        return tuple(tuple(str(a) for a in range(d)) for d in num_actions)
    if isinstance(names, str):
        raise ValueError(f"action_names must be a list of names, got {names!r}")
    if all(isinstance(name, str) for name in names):
        names = [names] * len(num_actions)  # type: ignore[list-item]
    found = tuple(tuple(of) for of in names)
    if tuple(map(len, found)) != num_actions or any(len(set(of)) < len(of) for of in found):
        raise ValueError(
            "action_names must be one name per action, without doubles: the numbers of actions are "
            f"{' × '.join(map(str, num_actions))}, got {[list(of) for of in found]}"
        )
    return found
