"""The rounds of an environment, which its PettingZoo and Gymnasium faces share.

The dynamics are the world's own: a round hands the policies to the `Episode` that `simulate` steps
too, so an environment reset with seed s faces exactly the losses of `simulate(..., seed=s)`.
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
from regret_envs.feedback import Bandit, Place, unfit
from regret_envs.games import NormalFormGame
from regret_envs.metrics import off_simplex
from regret_envs.names import lookup
from regret_envs.play import AgentLike, PolicyError
from regret_envs.seeding import RunSeeds
from regret_envs.worlds import GameEpisode, World

FeedbackMode = Literal["full", "bandit"]
Opponent = str | AgentLike

# The one reference upwards, resolved when an opponent is named.
_MAKE_AGENT = "regret_envs.agents.registry:make"


@dataclass(frozen=True)
class Seat:
    """What one seat did and met in a round; arrays over runs.

    Attributes:
        policies: π_t, (num_runs, d).
        losses: ℓ_t, (num_runs, d): against the others' policies, or in pure play their drawn actions.
        rewards: −⟨ℓ_t, π_t⟩, or in pure play −ℓ_t(a_t); (num_runs,).
        actions: in pure play the drawn actions a_t, int (num_runs,).
        expected_losses: in pure play the loss that was to be expected of all seats' policies, (num_runs,).
    """

    policies: FloatArray
    losses: FloatArray
    rewards: FloatArray
    actions: IntArray | None = None
    expected_losses: FloatArray | None = None

    def info(self) -> dict[str, npt.NDArray[Any]]:
        """The round as numbers, runs first: the same keys in every round, 1 or num_actions numbers a run.

        Mixed play: `policy`, `losses`, `expected_loss`. Pure play also: `realized_action` (−1 before
        round 1) and `realized_loss`.
        """
        expected = -self.rewards if self.expected_losses is None else self.expected_losses
        info: dict[str, npt.NDArray[Any]] = {
            "policy": self.policies,
            "losses": self.losses,
            "expected_loss": expected,
        }
        if self.actions is not None:
            info |= {"realized_action": self.actions, "realized_loss": -self.rewards}
        return info


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
        action_mode: ActionMode = "normalize",
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
            player: observation_space(self.num_actions[player], _loss_bound(world)) for player in self.players
        }
        self._bandit = feedback == "bandit"
        self._pure = self._bandit or action_mode == "discrete"

    def labels(self) -> list[str]:
        """What a picture calls the seats: the player, and the class of the opponent that has the seat."""
        kinds = {seat: f" ({type(agent).__name__})" for seat, agent in self.opponents.items()}
        return [f"player_{seat}{kinds.get(seat, '')}" for seat in range(len(self.num_actions))]

    def start(self, *, horizon: int, seed: int, num_runs: int) -> None:
        """Begin `num_runs` runs: run r faces the losses of run r of `simulate(..., seed=seed)`.

        Raises:
            ValueError: if the world cannot last that long, or an opponent cannot play it.
        """
        seeds = RunSeeds(seed, num_runs)
        num_agents = len(self.num_actions)
        self._episode = self.world.start(num_agents=num_agents, horizon=horizon, seeds=seeds)
        self._observers = {
            player: Observer(self.num_actions[player], horizon=horizon, num_runs=num_runs)
            for player in self.players
        }
        for seat, agent in self.opponents.items():
            d = self.num_actions[seat]
            reason = agent.unsupported(d, horizon=horizon) if hasattr(agent, "unsupported") else None
            if reason := reason or unfit(agent, [Bandit()] if self._bandit else []):
                raise ValueError(f"opponent {agent!r} cannot play at seat {seat}: {reason}")
            agent.reset(d, horizon=horizon, num_runs=num_runs, rng=seeds.agent(seat))
        if self._pure:
            self._channels = [
                Bandit().start(d, Place(self.opponents.get(seat), seeds, seat, 0))
                for seat, d in enumerate(self.num_actions)
            ]
        nothing = np.zeros(num_runs)
        self.seats = [
            Seat(
                policies=np.full((num_runs, d), 1 / d),
                losses=np.zeros((num_runs, d)),
                rewards=nothing,
                actions=np.full(num_runs, -1) if self._pure else None,
            )
            for d in self.num_actions
        ]
        self.t = 0
        self.horizon = horizon

    def step(self, actions: Sequence[npt.ArrayLike], names: Sequence[str]) -> None:
        """Play a round; `seats` holds it afterwards.

        Args:
            actions: one batch a player, as `ActionMap` takes them.
            names: the players' names, for errors.

        Raises:
            ActionError: if an action cannot be played; nothing has happened then.
            PolicyError: if an opponent plays off the simplex.
            FloatingPointError: if the world's losses are not finite.
        """
        mapped = {
            player: self.action_maps[player](action, who=name)
            for player, action, name in zip(self.players, actions, names, strict=True)
        }
        policies = [
            self._ask(seat) if seat in self.opponents else mapped[seat] for seat in range(len(self.seats))
        ]
        if self._pure:
            self.seats = self._pure_round(policies)
        else:
            losses = self._losses(policies)
            self.seats = [
                Seat(policy, loss, -(loss * policy).sum(1))
                for policy, loss in zip(policies, losses, strict=True)
            ]
        self._show_opponents()
        for player, observer in self._observers.items():
            own = self.seats[player]
            drawn = np.eye(self.num_actions[player])[own.actions] if self._bandit else None
            observer.update(own.policies, own.losses, drawn)
        self.t += 1

    def observations(self, player: int) -> npt.NDArray[np.float32]:
        """The player's observations, a new array (num_runs, 1 + 3 · num_actions)."""
        return self._observers[player].observations()

    def _pure_round(self, policies: Sequence[FloatArray]) -> list[Seat]:
        pairs = zip(self._channels, policies, strict=True)
        played = [channel.play(policy.T).T for channel, policy in pairs]
        answered = played if self._episode.answers_actions else policies
        losses = self._losses(answered)
        # A game keeps no state, so it can be asked again; a stream's losses are what they are.
        again = isinstance(self._episode, GameEpisode)
        expected = self._episode.step(policies) if again else losses
        return [
            Seat(pi, loss, -(loss * play).sum(1), play.argmax(1), (mean * pi).sum(1))
            for pi, loss, play, mean in zip(policies, losses, played, expected, strict=True)
        ]

    def _losses(self, played: Sequence[FloatArray]) -> list[FloatArray]:
        """What the world answers, copied since it may overwrite it."""
        losses = [loss.copy("K") for loss in self._episode.step(played)]
        for seat, loss in enumerate(losses):
            if not np.isfinite(loss.sum()):
                raise FloatingPointError(
                    f"the world's losses for player {seat} are not finite in round {self.t + 1}: {loss}"
                )
        return losses

    def _show_opponents(self) -> None:
        for seat, record in enumerate(self.seats):
            shown = [record.losses]
            if self._pure:
                # At every seat, since a channel keeps what it drew until it is asked.
                estimates = self._channels[seat].show(record.losses.T)
                shown = [estimate.T for estimate in estimates] if self._bandit else shown
            if seat in self.opponents:
                for losses in shown:
                    self.opponents[seat].observe(losses)

    def _ask(self, seat: int) -> FloatArray:
        agent = self.opponents[seat]
        policies = np.array(agent.act(), dtype=np.float64)
        shape = self.seats[seat].policies.shape
        if policies.shape != shape or off_simplex(policies).any():
            raise PolicyError(
                f"opponent {agent!r} (seat {seat}) played {policies} in round {self.t + 1}: its policies "
                f"must be distributions of shape (num_runs, num_actions) = {shape}"
            )
        return policies


def _agent(opponent: Opponent) -> AgentLike:
    if isinstance(opponent, str):
        module, attribute = _MAKE_AGENT.split(":")
        return getattr(importlib.import_module(module), attribute)(opponent)
    return copy.deepcopy(opponent)


def _loss_bound(world: World) -> float:
    """The largest loss in absolute value, one figure for all seats: some libraries want equal spaces."""
    return max(np.abs(a).max() for a in world.losses) if isinstance(world, NormalFormGame) else np.inf
