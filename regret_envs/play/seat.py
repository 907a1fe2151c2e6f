"""An agent's seat in `simulate`: it keeps a block of rounds and sums them up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regret_envs import metrics
from regret_envs.arrays import FloatArray
from regret_envs.play.hooks import AgentLike
from regret_envs.play.round import AgentSeat
from regret_envs.seeding import RunSeeds
from regret_envs.worlds import Episode, GameEpisode

_FLOAT64 = np.dtype(np.float64)


class SummedSeat(AgentSeat):
    """An agent's seat that keeps a block of rounds of its play, and sums it up. Picklable.

    Args:
        draws_actions: whether sums of the drawn actions are kept beside those of the policies.

    Attributes:
        policy_block, action_block, loss_block: (block_rounds, num_actions, num_rows).
    """

    def __init__(
        self,
        agent: AgentLike,
        players: range,
        num_actions: int,
        seeds: RunSeeds,
        *,
        block_rounds: int,
        draws_actions: bool,
    ) -> None:
        super().__init__(agent, players, num_actions, seeds)
        num_rows = self.shape[0]
        self.draws_actions = draws_actions
        self._block_shape = (block_rounds, num_actions, num_rows)
        self._make_blocks()
        self.policy_sum = np.zeros((num_actions, num_rows))
        self.play_loss = metrics.PlayLossSum(num_actions, num_rows)
        if draws_actions:
            self.action_sum = np.zeros_like(self.policy_sum)
            self.realized_play_loss = metrics.PlayLossSum(num_actions, num_rows)

    def _make_blocks(self) -> None:
        self.policy_block, self.loss_block = np.empty(self._block_shape), np.empty(self._block_shape)
        self.action_block = np.empty(self._block_shape) if self.draws_actions else self.policy_block
        # Views made once: making them every round is a tenth of the cost of a single run.
        self._policy_rows = [row.T for row in self.policy_block]
        self._loss_rows = [row.T for row in self.loss_block]
        self._asked = self._shown = 0

    def __getstate__(self) -> dict[str, Any]:
        # The blocks are written anew before they are read, and a pickled view would be an array of its own.
        scratch = ("policies", "actions", "losses", "_policy_rows", "_loss_rows")
        blocks = ("policy_block", "action_block", "loss_block")
        return {name: value for name, value in self.__dict__.items() if name not in (*scratch, *blocks)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_blocks()

    @property
    def outstanding(self) -> int:
        """How many rounds' losses the agent has not been shown yet."""
        return 0 if self.channels is None else self.channels.outstanding

    def begin_block(self) -> None:
        """Keep the next rounds from the first row of the block on."""
        self._asked = self._shown = 0

    def ask(self, t: int) -> FloatArray:
        """The agent's policies, kept as the next row of the block."""
        row = self._policy_rows[self._asked]
        returned = self.agent.act()
        # Most agents return just this, and in a single run the rest of the checks would cost a tenth.
        if type(returned) is not np.ndarray or returned.dtype is not _FLOAT64 or returned.shape != self.shape:
            returned = self.as_policies(returned, t)
        row[...] = returned
        self.policies = row
        self._asked += 1
        return row

    def draw(self) -> FloatArray:
        """The drawn actions, kept in the same row of the block."""
        self.action_block[self._asked - 1] = super().draw().T
        return self.actions

    def show(self, losses: FloatArray) -> None:
        """Keep the losses as the next row of the block, and show the agent what arrives."""
        row = self._loss_rows[self._shown]
        row[...] = losses
        self.losses = row
        self._shown += 1
        if self.channels is None:
            self.agent.observe(losses)
        else:
            # A layer of feedback may keep what it is shown, and the world's losses may be overwritten.
            self.pass_on(row)

    def check_block(self, t: int, count: int) -> None:
        """Check the block's first `count` rounds, played after round `t`; errors as in `check`."""
        self.check(self.policy_block[:count], self.loss_block[:count], t)
        self.check_range(self.action_block[:count], self.loss_block[:count], t)

    def add(self, count: int) -> None:
        """Sum up the block's first `count` rounds."""
        policies, losses = self.policy_block[:count], self.loss_block[:count]
        self.play_loss.add(policies, losses)
        self.policy_sum += policies.sum(0)
        if self.draws_actions:
            actions = self.action_block[:count]
            self.realized_play_loss.add(actions, losses)
            self.action_sum += actions.sum(0)

    def by_player(self, rows: FloatArray) -> Sequence[FloatArray]:
        """An array whose first axis is the agent's rows, as one array (num_runs, ...) per player."""
        return np.split(rows, len(self.players)) if len(self.players) > 1 else [rows]


class OneForAll(Episode):
    """A game at whose seats one agent sits for all players."""

    def __init__(self, episode: Episode, num_players: int) -> None:
        assert isinstance(episode, GameEpisode)
        self._episode = episode
        self._num_players = num_players

    def by_player(self, policies: FloatArray) -> FloatArray:
        """Policies (num_actions, rows) as (num_actions, num_players, num_runs)."""
        return policies.reshape(len(policies), self._num_players, -1)

    def step(self, policies: Sequence[FloatArray]) -> list[FloatArray]:
        """The losses of all the agent's rows."""
        losses = self._episode.step_stacked(self.by_player(policies[0].T))
        return [losses.reshape(len(losses), -1).T]
