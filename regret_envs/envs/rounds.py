"""The rounds of an environment, shared by its PettingZoo and Gymnasium forms.

They are played by the same `Match` as those of `simulate`, so an environment reset with seed s faces exactly
the losses of `simulate(..., seed=s)`. Added here are action maps, observations and rewards.
"""

from __future__ import annotations

import copy
import importlib
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
from regret_envs.play.round import AgentLike, AgentSeat, Match, Seat, misfit
from regret_envs.seeding import RunSeeds
from regret_envs.worlds import GameEpisode, World

FeedbackMode = Literal["full", "bandit"]
Opponent = str | AgentLike

# The one reference upwards, resolved when an opponent is named.
_MAKE_AGENT = "regret_envs.agents.registry:make"


@dataclass
class SeatRecord:
    """One seat's play and losses in a round; arrays over runs.

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
        num_agents, num_runs = len(self.num_actions), seeds.num_runs
        episode = self.world.start(num_agents=num_agents, horizon=horizon, seeds=seeds)
        self._observers = {
            player: Observer(self.num_actions[player], horizon=horizon, num_runs=num_runs)
            for player in self.players
        }
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
        for seat in self._seats:
            if isinstance(seat, AgentSeat):
                seat.reset(self.world, horizon)
        nothing = np.zeros(num_runs)
        self.seats = [
            SeatRecord(
                policies=seat.policies,
                losses=seat.losses,
                rewards=nothing,
                expected_losses=-nothing,
                actions=np.full(num_runs, -1) if self._layers else None,
            )
            for seat in self._seats
        ]
        self.horizon, self.num_runs = horizon, num_runs

    @property
    def t(self) -> int:
        """Rounds played."""
        return self._match.t

    def step(self, actions: Sequence[npt.ArrayLike], names: Sequence[str]) -> None:
        """Play a round; `seats` holds it afterwards.

        Args:
            actions: one batch per player, as `ActionMap` takes them.
            names: the players' names, for errors.

        Raises:
            ActionError: if an action cannot be played; nothing has happened then.
            PolicyError: if an opponent plays off the simplex.
            LossRangeError: if an opponent that assumes losses in [0, ρ] sees one outside.
            FloatingPointError: if the world's losses are not finite.
        """
        mapped = [
            self.action_maps[player](action, who=name)
            for player, action, name in zip(self.players, actions, names, strict=True)
        ]
        for player, policies in zip(self.players, mapped, strict=True):
            self._seats[player].policies = policies
        match, t = self._match, self._match.t
        match.play_round()
        for seat in self._seats:
            seat.check(seat.policies.T[None], seat.losses.T[None], t)
            if isinstance(seat, AgentSeat):
                seat.check_range(seat.actions.T[None], seat.losses.T[None], t)
        self.seats = self._records()
        for player, observer in self._observers.items():
            own = self._seats[player]
            observer.update(own.policies, own.losses, own.actions if self._bandit else None)

    def observations(self, player: int) -> npt.NDArray[np.float32]:
        """The player's observations, a new array (num_runs, 1 + 3 · num_actions)."""
        return self._observers[player].observations()

    def _records(self) -> list[SeatRecord]:
        """The round as every seat met it; rewards are those of what was played."""
        seats = self._seats
        if not self._layers:
            expected = [_mean(seat.losses, seat.policies) for seat in seats]
            return [
                SeatRecord(s.policies, s.losses, -loss, loss) for s, loss in zip(seats, expected, strict=True)
            ]
        # A game keeps no state, so it can be asked again; a stream's losses are what they are.
        losses: Sequence[FloatArray] = [seat.losses for seat in seats]
        pure = all(seat.actions is seat.policies for seat in seats)
        if not pure and isinstance(self._match.episode, GameEpisode):
            losses = self._match.episode.step([seat.policies for seat in seats])
        return [
            SeatRecord(
                s.policies,
                s.losses,
                -_mean(s.losses, s.actions),
                _mean(mean, s.policies),
                s.actions.dot(np.arange(s.num_actions)).astype(np.int64),
            )
            for s, mean in zip(seats, losses, strict=True)
        ]


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
