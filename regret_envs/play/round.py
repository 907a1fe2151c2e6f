"""The protocol of play, written once: ask every seat, draw actions, step the world, show what arrives.

`simulate` adds sums over blocks of rounds, the environments add action maps and observations, and training
adds tensors. All of them play through `Match`. Arrays are (num_runs, num_actions), runs contiguous.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.feedback.channels import Channels, Feedback
from regret_envs.play.hooks import AgentLike, overrides
from regret_envs.seeding import RunSeeds
from regret_envs.simplex import all_on_simplex, off_simplex
from regret_envs.validation import is_lost
from regret_envs.worlds import Bounds, Episode, World


class LossRangeError(ValueError):
    """An agent saw a loss outside the interval that it assumes; says which setting to give."""


class PolicyError(ValueError):
    """An agent's policies are of the wrong shape, not real numbers, or off the simplex."""


class Seat(ABC):
    """A seat in a match: where its policies come from, and where its losses go.

    One seat may stand for several players with equally many actions; its row n · num_runs + r is then run r
    of the n-th of them.

    Args:
        players: the numbers of the players.
        num_actions: d.
        seeds: the runs.

    Attributes:
        policies, actions, losses: of the last round, (num_rows, num_actions): policies, drawn actions as unit
            vectors (where actions are drawn), and the world's losses.
        channels: the layers of feedback in front of the seat, or None.
    """

    def __init__(self, players: range, num_actions: int, seeds: RunSeeds) -> None:
        self.players = players
        self.num_actions = num_actions
        self.seeds = seeds
        self.shape = (len(players) * seeds.num_runs, num_actions)
        self.channels: Channels | None = None
        self.policies: FloatArray = np.full(self.shape, 1 / num_actions)
        self.actions = self.policies
        self.losses: FloatArray = np.zeros(self.shape)

    @property
    def occupant(self) -> object:
        """Who sits here, for the layers of feedback: an agent, or None if play comes from outside."""
        return None

    def face(self, world: World, layers: Sequence[Feedback]) -> None:
        """Put layers of feedback between the world and the seat."""
        player = self.players[0]
        self.channels = Channels(
            layers,
            self.num_actions,
            agent=self.occupant,
            seeds=self.seeds,
            player=player,
            bounds=world.loss_bounds(player),
        )

    @abstractmethod
    def ask(self, t: int) -> FloatArray:
        """The policies of round t + 1, kept as `policies`."""

    def draw(self) -> FloatArray:
        """What is played where the policies are `policies`, kept as `actions`."""
        assert self.channels is not None
        self.actions = self.channels.play(self.policies.T).T
        return self.actions

    def show(self, losses: FloatArray) -> None:
        """Keep a copy of the world's losses, and pass on what arrives through the layers of feedback."""
        self.losses = losses.copy("K")
        self.pass_on(losses)

    def pass_on(self, losses: FloatArray) -> None:
        """Send losses through the layers of feedback."""
        if self.channels is None:
            self.observe(losses)
        else:
            for shown in self.channels.show(losses.T):
                self.observe(shown.T)

    @abstractmethod
    def observe(self, losses: FloatArray) -> None:
        """Take in losses of the earliest round that has not been shown yet."""

    def check(self, policies: FloatArray, losses: FloatArray, t: int) -> None:
        """Check the world's losses in a block of rounds.

        Args:
            policies: shape (rounds, num_actions, num_rows).
            losses: the same shape.
            t: rounds played before the block.

        Raises:
            FloatingPointError: for the first losses that are not finite; names the player, round and run.
        """
        # One product is cheaper than a test of every entry, and not finite if an entry is not.
        if not math.isfinite(np.vdot(losses, losses)):
            for k, row in np.argwhere(np.logical_not(np.isfinite(losses).all(1))):
                player, run = divmod(int(row), self.seeds.num_runs)
                raise FloatingPointError(
                    f"the world's losses for player {self.players[player]} are not finite in round "
                    f"{t + k + 1}, row {run}: {losses[k, :, row]}"
                )

    def starting_losses(self, scale: float) -> FloatArray:
        """Losses N(0, scale² I) of a round 0, (num_rows, num_actions)."""
        rngs = [rng for player in self.players for rng in self.seeds.starting_losses(player)]
        return np.stack([scale * rng.standard_normal(self.num_actions) for rng in rngs], axis=1).T


class AgentSeat(Seat):
    """A seat taken by an agent. Policies are copied, and checked by `check`.

    Attributes:
        agent: the agent.
        watches: whether the agent wants to see what all seats played.
    """

    def __init__(self, agent: AgentLike, players: range, num_actions: int, seeds: RunSeeds) -> None:
        super().__init__(players, num_actions, seeds)
        self.agent = agent
        self.watches = overrides(agent, "watch")
        self._bounds: Bounds | None = None
        self._interval: Bounds | None = None

    @property
    def occupant(self) -> object:
        """The agent."""
        return self.agent

    def reset(self, world: World, horizon: int | None) -> None:
        """Begin the agent's runs, tell it the range of the losses, and describe the world to it."""
        num_rows, num_actions = self.shape
        self._bounds = world.loss_bounds(self.players[0])
        self._interval = None
        if self.channels is not None and getattr(self.agent, "assumed_losses", "any") == "interval":
            agent: Any = self.agent
            agent.set_range(self.channels.loss_range)
            least, loss_range = self.channels.loss_offset, agent.played_range
            if loss_range is not None:
                self._interval = _to_check((least, least + loss_range), self._bounds)
        rng = self.seeds.agent(self.players[0])
        self.agent.reset(num_actions, horizon=horizon, num_runs=num_rows, rng=rng)
        if overrides(self.agent, "describe"):
            self.agent.describe(world, self.players[0])  # type: ignore[attr-defined]

    def show_starting_losses(self, scale: float) -> None:
        """Round 0: the agent acts to no effect and is shown random losses, or these alone if it can tell."""
        losses = self.starting_losses(scale)
        if overrides(self.agent, "observe_start"):
            self.agent.observe_start(losses)  # type: ignore[attr-defined]
        else:
            self.agent.act()
            self.agent.observe(losses)

    def ask(self, t: int) -> FloatArray:
        """The agent's policies.

        Raises:
            PolicyError: if they are not an array of real numbers of the right shape.
        """
        self.policies = np.array(self.as_policies(self.agent.act(), t), dtype=np.float64, order="F")
        return self.policies

    def as_policies(self, returned: object, t: int) -> FloatArray:
        """What the agent returned in round t + 1 as an array; errors as in `ask`."""
        try:
            policies = np.asarray(returned)
        except ValueError as error:
            raise PolicyError(f"{self.name()} returned no array in round {t + 1}: {error}") from error
        # NumPy would read text as numbers and drop imaginary parts.
        if policies.shape != self.shape or policies.dtype.kind not in "fiub":
            raise PolicyError(
                f"{self.name()} returned policies of shape {policies.shape} in round {t + 1}, of type "
                f"{policies.dtype}: (num_runs, num_actions) is {self.shape}, and policies are real numbers"
            )
        return policies

    def observe(self, losses: FloatArray) -> None:
        """Show the agent losses."""
        self.agent.observe(losses)

    def check(self, policies: FloatArray, losses: FloatArray, t: int) -> None:
        """Check a block of rounds, the policies too.

        Raises:
            PolicyError: for the first policy that is off the simplex.
            FloatingPointError: for the first losses of the world that are not finite.
        """
        if not all_on_simplex(policies, axis=1):
            k, row = np.argwhere(off_simplex(policies, axis=1))[0]
            # Losses that are not finite may be why: the world is to blame for what it did first.
            super().check(policies[:k], losses[:k], t)
            policy = policies[k, :, row]
            player, run = divmod(int(row), self.seeds.num_runs)
            raise PolicyError(
                f"{self.name(player)} played off the simplex in round {t + k + 1}, row {run}: "
                f"{np.array2string(policy, threshold=8)} (sum {policy.sum():.9g}, minimum {policy.min():.3g}"
                "); rows must be finite, not negative and sum to 1 within 1e-6"
            )
        super().check(policies, losses, t)

    def check_range(self, actions: FloatArray, losses: FloatArray, t: int) -> None:
        """Check the losses of the drawn actions, for an agent that assumes an interval.

        Args:
            actions: unit vectors, shape (rounds, num_actions, num_rows).
            losses: of the world, the same shape.
            t: rounds played before the block.

        Raises:
            LossRangeError: for the first one outside.
        """
        if self._interval is None:
            return
        seen = (actions * losses).sum(1)
        least, greatest = self._interval
        slack = _SLACK * max(abs(least), abs(greatest))
        outside = (seen < least - slack) | (seen > greatest + slack)
        if not outside.any():
            return
        k, row = np.argwhere(outside)[0]
        loss = float(seen[k, row])
        if self._bounds is not None:
            low, high = self._bounds
            give = (
                f"the losses here lie in [{low:g}, {high:g}]: give the feedback the loss_offset {low:g} and "
                f"the agent the loss_range {high - low:g}, or neither, and both are set from the world"
            )
        elif loss < least:
            give = (
                f"give the feedback a loss_offset of at most {loss:g} (as Bandit(loss_offset=...)), and the "
                "agent a loss_range from there to the greatest loss"
            )
        else:
            give = f"give the agent a loss_range of at least {loss - least:g}"
        raise LossRangeError(
            f"{self.name()} assumes losses in [{least:g}, {greatest:g}] and saw {loss:g} in round "
            f"{t + k + 1}, row {row}; {give}"
        )

    def name(self, player: int = 0) -> str:
        """The agent and its player, for errors."""
        return f"{_shown(self.agent)} (player {self.players[player]})"


_SLACK = 1e-9
"""Of the interval's ends: what rounding may add."""


def _to_check(interval: Bounds, bounds: Bounds | None) -> Bounds | None:
    """The interval that an agent assumes, or None where the world's losses lie within it for sure."""
    known = bounds is not None and interval[0] <= bounds[0] and bounds[1] <= interval[1]
    return None if known else interval


class Match:
    """Rounds of many runs at once between the seats of a world. Picklable.

    Args:
        world: what is played.
        episode: of the world.
        seats: in the order of the players.
        layers: the layers of feedback in front of every seat.

    Attributes:
        t: rounds played.
        draws_actions: whether actions are drawn from the policies.
    """

    def __init__(
        self, world: World, episode: Episode, seats: Sequence[Seat], layers: Sequence[Feedback]
    ) -> None:
        self.episode = episode
        self.seats = seats
        self._spreads = [_spread(world, seat.players[0]) for seat in seats]
        self._watchers: list[Any] = [s.agent for s in seats if isinstance(s, AgentSeat) and s.watches]
        self.draws_actions = any(layer.draws_actions for layer in layers)
        self.t = 0
        for seat in seats if layers else ():
            seat.face(world, layers)

    def play_round(self) -> None:
        """Play one round; the seats hold what came of it.

        Raises:
            PolicyError: if an agent's policies are not an array of the right shape.
            ValueError: if the world's losses are so large beside their range that regret would be rounding.
        """
        seats = self.seats
        played = answered = [seat.ask(self.t) for seat in seats]
        if self.draws_actions:
            played = [seat.draw() for seat in seats]
            if self.episode.answers_actions:
                answered = played
        for seat, spread, losses in zip(seats, self._spreads, self.episode.step(answered), strict=True):
            if self.t == 0 and is_lost(spread, losses):
                raise ValueError(
                    f"the world's losses, as {losses[0]}, are too large beside their range of {spread:g}: "
                    "regret would be rounding. Subtract a common level from all of them"
                )
            seat.show(losses)
        if self._watchers:
            seen = [policies.copy("K") for policies in played]
            for policies in seen:
                policies.flags.writeable = False
            for agent in self._watchers:
                agent.watch(seen)
        self.t += 1

    def explain(self, error: Exception) -> None:
        """Add to an error in which round of whose play it was raised."""
        players = ", ".join(_shown(seat.occupant) for seat in self.seats if seat.occupant is not None)
        error.add_note(f"raised in round {self.t + 1} of play by {players}")
        if type(error) is ValueError and "read-only" in str(error):
            error.add_note("the losses that an agent is shown are read-only: change a copy of them")


def _spread(world: World, player: int) -> float:
    """The range of a player's losses, or the scale that the world says they have; 0 if it says neither."""
    bounds = world.loss_bounds(player)
    return bounds[1] - bounds[0] if bounds else float(getattr(world, "loss_scale", 0.0))


def _shown(agent: object) -> str:
    """Its repr(), or where that raises the name of its class: an error is about what was raised first."""
    try:
        return repr(agent)
    except Exception:
        return f"{type(agent).__name__}(…)"
