"""An agent at its seat, for a block of rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from regret_envs import metrics
from regret_envs.arrays import FloatArray
from regret_envs.feedback import Channels, Feedback
from regret_envs.seeding import RunSeeds
from regret_envs.simplex import all_on_simplex, off_simplex


@runtime_checkable
class AgentLike(Protocol):
    """What `simulate` asks of an agent; see `regret_envs.agents.Agent`."""

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin `num_runs` runs."""

    def act(self) -> FloatArray:
        """Policies, shape (num_runs, num_actions)."""
        ...

    def observe(self, losses: FloatArray) -> None:
        """Losses, shape (num_runs, num_actions)."""


class PolicyError(ValueError):
    """An agent's policies are of the wrong shape, no real numbers, or off the simplex."""


class Seat:
    """An agent at its seat: asks it, shows it losses, and keeps a block of rounds of its play. Picklable.

    One agent may sit for several players of equal numbers of actions; its row n · num_runs + r is then run
    r of the n-th of them.
    """

    def __init__(
        self,
        agent: AgentLike,
        players: range,
        num_actions: int,
        block_rounds: int,
        layers: Sequence[Feedback],
        seeds: RunSeeds,
    ) -> None:
        self.agent = agent
        self.players = players
        self._seeds = seeds
        num_rows = len(players) * seeds.num_runs
        self.policies = np.empty((block_rounds, num_actions, num_rows))
        self.losses = np.empty_like(self.policies)
        self._make_rows()
        self.policy_sum = np.zeros((num_actions, num_rows))
        self.play_loss = metrics.PlayLossSum(num_actions, num_rows)
        self._shape = (num_rows, num_actions)
        self._channels = None
        if layers:
            self._channels = Channels(layers, num_actions, agent=agent, seeds=seeds, player=players[0])
        self.draws_actions = any(layer.draws_actions for layer in layers)
        if self.draws_actions:
            self.actions = np.empty_like(self.policies)
            self.action_sum = np.zeros_like(self.policy_sum)
            self.realized_play_loss = metrics.PlayLossSum(num_actions, num_rows)

    def _make_rows(self) -> None:
        # Views made once: making them every round is a tenth of the cost of a single run.
        self._policy_rows = [row.T for row in self.policies]
        self._loss_rows = [row.T for row in self.losses]

    def __getstate__(self) -> dict[str, Any]:
        # A pickled view would be an array of its own. The block is written anew before it is read.
        state = self.__dict__ | {"policies": self.policies.shape}
        for name in ("losses", "actions", "_policy_rows", "_loss_rows"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.policies, self.losses = (np.empty(state["policies"]) for _ in range(2))
        if self.draws_actions:
            self.actions = np.empty_like(self.policies)
        self._make_rows()

    @property
    def outstanding(self) -> int:
        """How many rounds' losses the agent has not been shown yet."""
        return 0 if self._channels is None else self._channels.outstanding

    def reset(self, horizon: int | None) -> None:
        """Begin the agent's runs."""
        num_rows, num_actions = self._shape
        rng = self._seeds.agent(self.players[0])
        self.agent.reset(num_actions, horizon=horizon, num_runs=num_rows, rng=rng)

    def show_starting_losses(self, scale: float) -> None:
        """Round 0: the agent acts to no effect and is shown random losses."""
        self.agent.act()
        rngs = [rng for player in self.players for rng in self._seeds.starting_losses(player)]
        losses = np.stack([scale * rng.standard_normal(self._shape[1]) for rng in rngs], axis=1)
        self.agent.observe(losses.T)

    def act(self, k: int, t: int) -> FloatArray:
        """The agent's policies in round t + k + 1, kept as row k of the block."""
        returned = self.agent.act()
        try:
            policies = np.asarray(returned)
        except ValueError as error:
            raise PolicyError(f"{self._name()} returned no array in round {t + k + 1}: {error}") from error
        # NumPy would read text as numbers and drop imaginary parts.
        if policies.shape != self._shape or policies.dtype.kind not in "fiub":
            raise PolicyError(
                f"{self._name()} returned policies of shape {policies.shape} in round {t + k + 1}, of type "
                f"{policies.dtype}: (num_runs, num_actions) is {self._shape}, and they are real numbers"
            )
        row = self._policy_rows[k]
        row[...] = policies
        return row

    def play(self, k: int) -> FloatArray:
        """What is played in row k of the block: the policies, or the actions drawn from them."""
        if not self.draws_actions or self._channels is None:
            return self.policies[k].T
        self.actions[k] = self._channels.play(self.policies[k])
        return self.actions[k].T

    def observe(self, k: int, losses: FloatArray) -> None:
        """Keep the world's losses as row k of the block, and show the agent what arrives."""
        self._loss_rows[k][...] = losses
        if self._channels is None:
            self.agent.observe(losses)
        else:
            for shown in self._channels.show(self.losses[k]):
                self.agent.observe(shown.T)

    def add(self, count: int) -> None:
        """Sum up the block's first `count` rounds."""
        self.play_loss.add(self.policies[:count], self.losses[:count])
        self.policy_sum += self.policies[:count].sum(0)
        if self.draws_actions:
            self.realized_play_loss.add(self.actions[:count], self.losses[:count])
            self.action_sum += self.actions[:count].sum(0)

    def by_player(self, rows: FloatArray) -> list[FloatArray]:
        """An array whose first axis is the agent's rows, as one array (num_runs, ...) a player."""
        return np.split(rows, len(self.players)) if len(self.players) > 1 else [rows]

    def check(self, t: int, count: int) -> None:
        """Check the block's first `count` rounds.

        Raises:
            PolicyError: for the first policy that is off the simplex.
            FloatingPointError: for the first losses of the world that are not finite.
        """
        if not all_on_simplex(self.policies[:count], axis=1):
            k, row = np.argwhere(off_simplex(self.policies[:count], axis=1))[0]
            policy = self.policies[k, :, row]
            player, run = divmod(int(row), self._seeds.num_runs)
            raise PolicyError(
                f"{self._name(player)} played off the simplex in round {t + k + 1}, row {run}: "
                f"{np.array2string(policy, threshold=8)} (sum {policy.sum():.9g}, minimum {policy.min():.3g}"
                "); rows must be finite, not negative and sum to 1 within 1e-6"
            )
        # One sum is cheaper than a test of every entry, and not finite if an entry is not.
        if not np.isfinite(self.losses[:count].sum()):
            for k, row in np.argwhere(np.logical_not(np.isfinite(self.losses[:count]).all(1))):
                player, run = divmod(int(row), self._seeds.num_runs)
                raise FloatingPointError(
                    f"the world's losses for player {self.players[player]} are not finite in round "
                    f"{t + k + 1}, row {run}: {self.losses[k, :, row]}"
                )

    def _name(self, player: int = 0) -> str:
        return f"{self.agent!r} (player {self.players[player]})"
