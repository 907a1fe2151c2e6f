"""A Stackelberg leader: it knows the algorithm of the other player, and plays a plan against it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.arrays import FloatArray, IntArray
from regret_envs.games import NormalFormGame
from regret_envs.play import AgentLike, simulate
from regret_envs.validation import at_least
from regret_envs.worlds import World

Plan = tuple[tuple[float, int], ...]


@dataclass(eq=False)
class StackelbergLeader(Agent):
    """Plays a plan: one action for a share of the horizon, then the next, whatever the losses.

    Against an agent that plays what did well on average, a plan of two phases can be worth more than
    the Stackelberg value; against an agent without swap regret no play is, beyond o(T) (Deng, Schneider
    and Sivan, "Strategizing against No-Regret Learners", NeurIPS 2019).

    Args:
        plans: one plan for all runs, or one per run: pairs (share of the horizon, action), the shares
            nonnegative and summing to 1. None: the plan of two phases that is best against `follower`.
        follower: the other player of a game of two players, as an agent that has not played. Its play must
            not be random.
        num_shares: how finely the share of the first phase is tried, as in `best_plan`.

    Raises:
        ValueError: if there is no plan and no follower, or both; shares are out of range or an action is
            negative.
    """

    plans: Sequence[Plan] | None = None
    follower: Agent | None = None
    num_shares: int = 20

    reference = "Deng, Schneider and Sivan 2019"

    def __post_init__(self) -> None:
        if (self.plans is None) == (self.follower is None):
            raise ValueError("a leader needs plans or a follower to find the best plan against, and not both")
        self._game: tuple[NormalFormGame, int] | None = None
        at_least("num_shares", self.num_shares, 1)
        if self.plans is None:
            return
        if not self.plans:
            raise ValueError("plans must hold at least one plan")
        for plan in self.plans:
            shares = np.array([share for share, _ in plan], dtype=np.float64)
            if not ((shares >= 0).all() and abs(shares.sum() - 1) <= 1e-9):
                raise ValueError(f"a plan's shares must be at least 0 and sum to 1, got {plan!r}")
            for _, action in plan:
                at_least("an action of a plan", action, 0)

    def describe(self, world: World, seat: int) -> None:
        """Take in the game, for the plan against `follower`.

        Raises:
            ValueError: if there is a follower and the world is not one game of two players in arrays.
        """
        if self.follower is None:
            return
        if not isinstance(world, NormalFormGame) or world.num_players != 2:
            raise ValueError(f"a Stackelberg leader needs a game of two players in arrays, got {world!r}")
        self._game = world, seat

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """An unknown horizon, fewer actions than a plan has, or a follower that asks somebody else."""
        if horizon is None:
            return "a plan needs the horizon"
        if self.follower is not None and self.follower.usage is not None:
            return f"plans are tried on the follower itself, and {self.follower!r} asks at a price"
        most = max((action for plan in self.plans or () for _, action in plan), default=0)
        return f"a plan has action {most}, the task {num_actions} actions" if most >= num_actions else None

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin the plan.

        Raises:
            ValueError: if it cannot be played here, or there are several plans but not one per run.
        """
        reason = self.unsupported(num_actions, horizon=horizon)
        if reason or horizon is None:
            raise ValueError(reason)
        if self.plans is not None and len(self.plans) not in (1, num_runs):
            raise ValueError(
                f"there are {len(self.plans)} plans for {num_runs} runs: give one, or one per run"
            )
        self._t = 0
        self._horizon, self._num_runs = horizon, num_runs
        self._eye = np.eye(num_actions)
        self._actions: IntArray | None = None

    def act(self) -> FloatArray:
        """The planned action.

        Raises:
            ValueError: if the plan is to be found and the game is not known.
        """
        if self._actions is None:
            plans = self.plans or [self._best_plan()]
            # Row t: every plan's action in round t + 1.
            self._actions = np.stack([_actions(plan, self._horizon) for plan in plans], axis=1)
        # Past the horizon, or before it in a round that does not count, the nearest action is played.
        actions = self._actions[min(self._t, len(self._actions) - 1)]
        self._t += 1
        return self._eye[np.broadcast_to(actions, self._num_runs)]

    def _best_plan(self) -> Plan:
        if self._game is None or self.follower is None:
            raise ValueError("a leader with a follower must be told the game: call describe(world, seat)")
        game, seat = self._game
        follower = copy.deepcopy(self.follower)
        return best_plan(game, follower, horizon=self._horizon, num_shares=self.num_shares, leader=seat)[0]

    def observe(self, losses: FloatArray) -> None:
        """Nothing to learn."""


def _actions(plan: Plan, horizon: int) -> IntArray:
    """The action of every round, shape (horizon,)."""
    ends = np.round(np.cumsum([share for share, _ in plan]) * horizon).astype(np.int64)
    return np.repeat([action for _, action in plan], np.diff(ends, prepend=0))


def best_plan(
    game: NormalFormGame, follower: AgentLike, *, horizon: int, num_shares: int = 20, leader: int = 0
) -> tuple[Plan, float]:
    """The plan of two phases that pays the leader most against `follower`, and what it pays per round.

    Every pair of actions is tried with every share k / num_shares of the horizon for the first, each
    against the agent itself: the leader knows the algorithm.

    Args:
        game: a game of two players.
        follower: the other player; its play must not be random.
        horizon: rounds.
        num_shares: how finely the share is tried.
        leader: the leader's seat.
    """
    plans = list(_two_phases(game.num_actions[leader], at_least("num_shares", num_shares, 1)))
    agents: list[AgentLike] = [StackelbergLeader(plans), follower]
    play = simulate(game, agents if leader == 0 else agents[::-1], horizon=horizon, num_runs=len(plans))
    payoffs = -np.trace(play.play_losses[leader], axis1=1, axis2=2) / horizon
    best = int(payoffs.argmax())
    return plans[best], float(payoffs[best])


def _two_phases(num_actions: int, num_shares: int) -> Iterable[Plan]:
    pairs = itertools.permutations(range(num_actions), 2) if num_actions > 1 else [(0, 0)]
    for first, second in pairs:
        for k in range(1, num_shares + 1):
            yield (k / num_shares, first), (1 - k / num_shares, second)
