"""The rounds of an environment, shared by its PettingZoo and Gymnasium forms.

They are played by the same `Match` as those of `simulate`, so an environment reset with seed s faces exactly
the losses of `simulate(..., seed=s)`. Added here are action maps, observations and rewards.
"""

from __future__ import annotations

import copy
import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.envs.actions import ActionMap, ActionMode
from regret_envs.envs.observations import Observer, observation_space
from regret_envs.feedback import Bandit, Feedback, Pure
from regret_envs.games import NormalFormGame
from regret_envs.names import lookup
from regret_envs.play.hooks import AgentLike, misfit
from regret_envs.play.round import AgentSeat, Match, Seat
from regret_envs.seeding import RunSeeds
from regret_envs.worlds import GameEpisode, World

FeedbackMode = Literal["full", "bandit"]
Opponent = str | AgentLike

# The one reference upwards, resolved when an opponent is named.
_MAKE_AGENT = "regret_envs.agents.registry:make"


@dataclass
class SeatRecord:
    """A seat's play and losses in a round; arrays over runs (of several players, one after the other).

    Attributes:
        policies: π_t, (num_runs, d).
        losses: ℓ_t, (num_runs, d): against the others' policies, or in pure play their drawn actions.
        rewards: −⟨ℓ_t, π_t⟩, or in pure play −ℓ_t(a_t); (num_runs,).
        actions: in pure play the drawn actions a_t, int (num_runs,).
        expected_losses: the loss that was to be expected of all seats' policies, (num_runs,).
    """

    policies: FloatArray
    losses: FloatArray
    rewards: FloatArray
    expected_losses: FloatArray
    actions: IntArray | None = None

    def info(self) -> dict[str, npt.NDArray[Any]]:
        """The round as numbers, runs first: the same keys in every round, 1 or num_actions numbers per run.

        Mixed play: `policy`, `losses`, `expected_loss`. Pure play also: `realized_action` (−1 before
        round 1) and `realized_loss`.
        """
        info: dict[str, npt.NDArray[Any]] = {
            "policy": self.policies,
            "losses": self.losses,
            "expected_loss": self.expected_losses,
        }
        if self.actions is not None:
            info["realized_action"], info["realized_loss"] = self.actions, -self.rewards
        return info


class PlayerSeat(Seat):
    """A seat whose policies come from outside: set `policies` before each round.

    Args:
        pure: whether every policy has all mass on one action, which then is what is drawn.
    """

    def __init__(self, players: range, num_actions: int, seeds: RunSeeds, *, pure: bool) -> None:
        super().__init__(players, num_actions, seeds)
        self._pure = pure

    def face(self, world: World, layers: Sequence[Feedback]) -> None:
        """Only draw actions, and that only if policies are not pure: nobody here is shown losses."""
        if not self._pure:
            super().face(world, [Pure()])

    def ask(self, t: int) -> FloatArray:
        """The policies that were set."""
        return self.policies

    def draw(self) -> FloatArray:
        """As in the base class."""
        if not self._pure:
            return super().draw()
        self.actions = self.policies
        return self.actions

    def show(self, losses: FloatArray) -> None:
        """Keep a copy of the world's losses: the environment builds its own observations."""
        self.losses = losses.copy("K")

    def observe(self, losses: FloatArray) -> None:
        """Ignored."""


@dataclass
class Group:
    """Players with equally many actions, whose arrays are one batch: the runs of the first, the second, …

    Attributes:
        players: their seats.
        record: the last round.
        observer: makes their observations.
    """

    players: Sequence[int]
    record: SeatRecord
    observer: Observer


class Rounds:
    """A world, its seats, and `num_runs` runs of an episode.

    Args:
        world: a stream or a game.
        num_agents: seats.
        action_mode: how actions become policies (`regret_envs.envs.actions`).
        logit_scale: of action_mode "softmax".
        feedback: "full": every action's loss is shown. "bandit": an action is drawn from the policy and
            only its loss is shown; opponents are shown the estimate of `regret_envs.feedback.Bandit`, as in
            `simulate(..., feedback=Bandit())`, and actions are drawn as there.
        opponents: agents of the suite at some of the seats, by seat: names (`"hedge"`, or any spec of
            the command line) or agent objects, which are copied.

    Play is **pure** with discrete actions or bandit feedback: each seat's action is drawn from its policy,
    losses are those against the others' drawn actions, and rewards are those of the drawn action. Else it
    is **mixed**: losses and rewards are expected ones.

    Attributes:
        players: the seats that are not opponents'.
        groups: the players, all in one group if they have equally many actions, else each in its own.
        action_maps: by player.
        observation_spaces: by player.

    Raises:
        UnknownNameError: for an unknown action_mode, feedback or opponent; lists the near ones.
        ValueError: if the world does not seat that many, or no seat is left to play.
    """

    def __init__(
        self,
        world: World,
        num_agents: int,
        *,
        action_mode: ActionMode = "softmax",
        logit_scale: float = 10.0,
        feedback: FeedbackMode = "full",
        opponents: Mapping[int, Opponent] | None = None,
    ) -> None:
        lookup("feedback", feedback, dict.fromkeys(get_args(FeedbackMode)))
        self.world = world
        self.num_actions = world.seats(num_agents)
        self.opponents = {seat: _agent(o) for seat, o in sorted((opponents or {}).items())}
        self.players = [seat for seat in range(num_agents) if seat not in self.opponents]
        if not self.players:
            raise ValueError("every seat is taken by an opponent: leave at least one for the environment")
        self.action_maps = {
            player: ActionMap(self.num_actions[player], action_mode, logit_scale=logit_scale)
            for player in self.players
        }
        self.observation_spaces = {
            player: observation_space(self.num_actions[player], loss_bound(world)) for player in self.players
        }
        self._bandit, self._pure = feedback == "bandit", action_mode == "discrete"
        self._layers: list[Feedback] = [Bandit()] if self._bandit else []
        if self._pure and not self._bandit:
            self._layers = [Pure()]

    def labels(self) -> list[str]:
        """What a picture calls the seats: the player, and the class of the opponent that has the seat."""
        kinds = {seat: f" ({type(agent).__name__})" for seat, agent in self.opponents.items()}
        return [f"player_{seat}{kinds.get(seat, '')}" for seat in range(len(self.num_actions))]

    def start(self, *, horizon: int, seeds: RunSeeds) -> None:
        """Begin the runs of `seeds`: they face the losses that those of `simulate` with the same seeds face.

        Raises:
            ValueError: if the world cannot last that long, or an opponent cannot play it.
        """
        num_runs = seeds.num_runs
        episode = self.world.start(num_agents=len(self.num_actions), horizon=horizon, seeds=seeds)
        for n, agent in self.opponents.items():
            if reason := misfit(agent, self.num_actions[n], horizon, self._layers):
                raise ValueError(f"opponent {agent!r} cannot play at seat {n}: {reason}")
        self._seats = [
            AgentSeat(self.opponents[n], range(n, n + 1), d, seeds)
            if n in self.opponents
            else PlayerSeat(range(n, n + 1), d, seeds, pure=self._pure)
            for n, d in enumerate(self.num_actions)
        ]
        self._match = Match(self.world, episode, self._seats, self._layers)
        self._agent_seats = [seat for seat in self._seats if isinstance(seat, AgentSeat)]
        for seat in self._agent_seats:
            seat.reset(self.world, horizon)
        self.horizon, self.num_runs = horizon, num_runs
        self._expected: Sequence[FloatArray] | None = None
        self._numbers = np.arange(max(self.num_actions))
        # Players with equally many actions are one batch.
        alike = len({self.num_actions[player] for player in self.players}) == 1
        self.groups = [
            Group(
                players, self._record(players), Observer(d, horizon=horizon, num_runs=num_runs * len(players))
            )
            for players in ([self.players] if alike else [[player] for player in self.players])
            for d in [self.num_actions[players[0]]]
        ]

    @property
    def t(self) -> int:
        """Rounds played."""
        return self._match.t

    def step(self, actions: Sequence[npt.ArrayLike], names: Sequence[str]) -> None:
        """Play a round; `groups` hold it afterwards.

        Args:
            actions: one batch per player, as `ActionMap` takes them.
            names: the players' names, for errors.

        Raises:
            ActionError: if an action cannot be played; nothing has happened then.
            PolicyError: if an opponent plays off the simplex.
            LossRangeError: if an opponent that assumes losses in [0, ρ] sees one outside.
            FloatingPointError: if the world's losses are not finite.
        """
        for player, policies in zip(self.players, self._mapped(actions, names), strict=True):
            self._seats[player].policies = policies
        match, t = self._match, self._match.t
        match.play_round()
        for seat in self._agent_seats:
            losses = seat.losses.T[None]
            seat.check(seat.policies.T[None], losses, t)
            seat.check_range(seat.actions.T[None], losses, t)
        self._expected = self._expected_losses()
        for group in self.groups:
            group.record = record = self._record(group.players)
            drawn = _batch([self._seats[n].actions for n in group.players]) if self._bandit else None
            group.observer.update(record.policies, record.losses, drawn)

    def _expected_losses(self) -> Sequence[FloatArray] | None:
        """The losses against the others' policies, None where they are those that were met."""
        # A game keeps no state, so it can be asked again; a stream's losses are what they are.
        episode = self._match.episode
        if not self._layers or all(seat.actions is seat.policies for seat in self._seats):
            return None
        if isinstance(episode, GameEpisode):
            return episode.step([seat.policies for seat in self._seats])
        return [seat.losses for seat in self._seats]

    @property
    def seats(self) -> list[SeatRecord]:
        """The round as every seat met it, opponents too."""
        return [self._record([seat]) for seat in range(len(self._seats))]

    def _mapped(self, actions: Sequence[npt.ArrayLike], names: Sequence[str]) -> Sequence[FloatArray]:
        """Every player's policies; one map for all if they are alike."""
        if len(self.players) > len(self.groups):
            try:
                policies = self.action_maps[self.players[0]](np.concatenate(actions), who="")
                return [policies[k : k + self.num_runs] for k in range(0, len(policies), self.num_runs)]
            except ValueError:
                pass  # below it is found whose action it is
        maps = [self.action_maps[player] for player in self.players]
        return [play(action, who=name) for play, action, name in zip(maps, actions, names, strict=True)]

    def _record(self, players: Sequence[int]) -> SeatRecord:
        """The round as some seats met it, one after the other; rewards are those of what was played."""
        seats = [self._seats[player] for player in players]
        policies, losses = _batch([s.policies for s in seats]), _batch([s.losses for s in seats])
        if not math.isfinite(np.vdot(losses.T, losses.T)):
            for seat in seats:
                seat.check(seat.policies.T[None], seat.losses.T[None], self.t - 1)
        if not self._layers:
            loss = _mean(losses, policies)
            return SeatRecord(policies, losses, -loss, loss)
        pure = all(seat.actions is seat.policies for seat in seats)
        actions = policies if pure else _batch([seat.actions for seat in seats])
        loss = expected = _mean(losses, actions)
        if self._expected is not None:
            expected = _mean(_batch([self._expected[player] for player in players]), policies)
        drawn = actions.dot(self._numbers[: actions.shape[1]]).astype(np.int64)
        if not self.t:
            drawn = np.full_like(drawn, -1)
        return SeatRecord(policies, losses, -loss, expected, drawn)


def _batch(arrays: Sequence[FloatArray]) -> FloatArray:
    """Arrays (num_runs, num_actions) one after the other, runs contiguous."""
    return arrays[0] if len(arrays) == 1 else np.concatenate([a.T for a in arrays], axis=1).T


def _mean(losses: FloatArray, weights: FloatArray) -> FloatArray:
    """⟨ℓ, w⟩ of every run."""
    return np.add.reduce(losses * weights, 1)


def _agent(opponent: Opponent) -> AgentLike:
    if isinstance(opponent, str):
        module, attribute = _MAKE_AGENT.split(":")
        return getattr(importlib.import_module(module), attribute)(opponent)
    return copy.deepcopy(opponent)


def loss_bound(world: World) -> float:
    """The largest loss in absolute value, one figure for all seats: some libraries want equal spaces."""
    return max(np.abs(a).max() for a in world.losses) if isinstance(world, NormalFormGame) else np.inf
