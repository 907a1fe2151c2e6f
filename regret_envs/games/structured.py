"""Games that are never built as a tensor: expected losses against product play, directly.

A tensor of N players with d actions has N d^N entries. What is here needs the policies alone, by a closed
form or by a dynamic program, so N may be a thousand.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.seeding import RunSeeds
from regret_envs.worlds import Game, GameEpisode


class StructuredGame(Game):
    """A game that computes expected losses itself.

    Inside, all players' policies are one array (max num_actions, num_players, num_runs), which is 0
    beyond a player's own actions.
    """

    @abstractmethod
    def expected_losses(self, policies: FloatArray) -> FloatArray:
        """ℓ_n(i) = E_{a_{−n} ~ ⊗_{m≠n} π_m}[loss_n(i, a_{−n})] of every player's every action.

        Args:
            policies: shape (max num_actions, num_players, num_runs), 0 beyond a player's actions.

        Returns:
            The same shape; what lies beyond a player's actions has no meaning, but is finite.
        """

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> StructuredEpisode:
        """Begin an episode, which is deterministic."""
        self.seats(num_agents)
        return StructuredEpisode(self)

    def __repr__(self) -> str:
        actions = " or ".join(map(str, sorted(set(self.num_actions))))
        return f"<{type(self).__name__}, {self.num_players} players, {actions} actions>"


class StructuredEpisode(GameEpisode):
    """Expected full-information play of a structured game."""

    def __init__(self, game: StructuredGame) -> None:
        self._game = game

    def step(self, policies: Sequence[FloatArray]) -> list[FloatArray]:
        """Expected losses against the others' policies."""
        losses = self._game.expected_losses(stack(policies))
        return [losses[:d, n].T for n, d in enumerate(self._game.num_actions)]

    def step_stacked(self, policies: FloatArray) -> FloatArray:
        """Expected losses against the others' policies, all players in one array."""
        return self._game.expected_losses(policies)


def stack(policies: Sequence[FloatArray]) -> FloatArray:
    """Policies (num_runs, num_actions) per player as one array (max num_actions, num_players, num_runs)."""
    num_actions = [p.shape[1] for p in policies]
    stacked = np.zeros((max(num_actions), len(policies), len(policies[0])))
    for n, (policy, d) in enumerate(zip(policies, num_actions, strict=True)):
        stacked[:d, n] = policy.T
    return stacked


def leave_one_out_product(values: FloatArray) -> FloatArray:
    """Π_{m≠n} x_m of every n, zeros or not; players along the first axis."""
    before, after = np.ones_like(values), np.ones_like(values)
    np.cumprod(values[:-1], axis=0, out=before[1:])
    np.cumprod(values[:0:-1], axis=0, out=after[-2::-1])
    return before * after
