"""Repeated normal-form games, and a library of named ones.

Payoffs are utilities, as game theory writes them; the losses that agents see are their negatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray
from regret_envs.seeding import RunSeeds
from regret_envs.worlds import Bounds
from regret_envs.worlds import Game as Game
from regret_envs.worlds import GameEpisode as GameEpisode


def expected_losses(losses: Sequence[FloatArray], policies: Sequence[FloatArray]) -> list[FloatArray]:
    """Every player's expected loss of each of its actions against the others' product play.

    ℓ_n(i) = E_{a_{−n} ~ ⊗_{m≠n} π_m}[loss_n(i, a_{−n})].

    Args:
        losses: one array per player, of shape (d_0, …, d_{N−1}), or (d_0, …, d_{N−1}, num_runs)
            where every run has a game of its own.
        policies: one array (num_runs, d_n) per player; fastest with the runs contiguous.

    Returns:
        One array (num_runs, d_n) per player, runs contiguous.
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
    """Play of one game for the whole batch, or of one game per run, given by its arrays.

    Attributes:
        losses: one array per player, as in `expected_losses`.
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
        action_names: every player's names of actions, one tuple per player; numbers where a game has none.

    Raises:
        ValueError: if there is no array, one is not of numbers, the number of axes is not the number
            of players, shapes differ or an entry is not finite; the message says which array.
    """

    def __init__(self, payoffs: Sequence[npt.ArrayLike], *, name: str = "game") -> None:
        arrays = [_numbers(payoff, f"payoffs[{player}]") for player, payoff in enumerate(payoffs)]
        if not arrays:
            raise ValueError("payoffs must hold one array per player, got none")
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
        self.action_names = tuple(tuple(map(str, range(d))) for d in self.num_actions)
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
        """The utilities, one array (d_0, …, d_{N−1}) per player."""
        return tuple(-a for a in self.losses)

    def loss_bounds(self, player: int) -> Bounds:
        """The least and the greatest entry of the player's array."""
        losses = self.losses[player]
        return float(losses.min()), float(losses.max())

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> TensorEpisode:
        """Begin an episode, which is deterministic."""
        self.seats(num_agents)
        return TensorEpisode(self.losses)

    def __repr__(self) -> str:
        return f"<{self.name}, {' × '.join(map(str, self.num_actions))} actions>"


def _numbers(payoff: npt.ArrayLike, name: str) -> FloatArray:
    """A float64 copy, or a `ValueError` that names the array."""
    try:
        try:
            array = np.asarray(payoff)
        except ValueError:
            raise ValueError("its rows have unequal lengths") from None
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
    """Raise `TensorSizeError` if an array (d_0, …, d_{N−1}) per player and game takes over 4 GiB in all."""
    size = 8 * len(num_actions) * math.prod(int(d) for d in num_actions) * num_games
    if size > 1 << 32:
        shape = " × ".join(map(str, num_actions)) if len(num_actions) <= 8 else f"{len(num_actions)} axes"
        runs = f"in each of {num_games} runs, " if num_games > 1 else ""
        raise TensorSizeError(
            f"the payoffs of {len(num_actions)} players, an array of {shape} each, {runs}would take "
            f"{size / (1 << 30):.3g} GiB: congestion, polymatrix, auction and other structured games do "
            "without arrays"
        )
