"""An optimiser: a player that knows that the other one learns, and plays a plan against it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.arrays import FloatArray, IntArray
from regret_envs.games import NormalFormGame
from regret_envs.play import AgentLike, simulate
from regret_envs.validation import at_least

Plan = tuple[tuple[float, int], ...]


@dataclass(eq=False)
class Optimiser(Agent):
    """Plays a plan: one action for a share of the horizon, then the next; blind to the losses.

    Against an agent that plays what did well on average, a plan of two phases can be worth more than
    the Stackelberg value; against one without swap regret no play is, beyond o(T) (Deng, Schneider
    and Sivan, "Strategizing against No-Regret Learners", NeurIPS 2019).

    Args:
        plans: one plan for all runs, or one a run: pairs (share of the horizon, action), the shares not
            negative and summing to 1.

    Raises:
        ValueError: if there is no plan, shares are out of range or an action is negative.
    """

    plans: Sequence[Plan]

    reference = "Deng, Schneider and Sivan 2019"

    def __post_init__(self) -> None:
        if not self.plans:
            raise ValueError("plans must hold at least one plan")
        for plan in self.plans:
            shares = np.array([share for share, _ in plan], dtype=np.float64)
            if not ((shares >= 0).all() and abs(shares.sum() - 1) <= 1e-9):
                raise ValueError(f"a plan's shares must be at least 0 and sum to 1, got {plan!r}")
            for _, action in plan:
                at_least("an action of a plan", action, 0)

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """An unknown horizon, or fewer actions than a plan has."""
        if horizon is None:
            return "a plan needs the horizon"
        most = max(action for plan in self.plans for _, action in plan)
        return f"a plan has action {most}, the task {num_actions} actions" if most >= num_actions else None

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin the plan.

        Raises:
            ValueError: if it cannot be played here, or there are several plans but not one a run.
        """
        reason = self.unsupported(num_actions, horizon=horizon)
        if reason or horizon is None:
            raise ValueError(reason)
        if len(self.plans) not in (1, num_runs):
            raise ValueError(f"there are {len(self.plans)} plans for {num_runs} runs: give one, or one a run")
        self._t = 0
        self._num_runs = num_runs
        self._eye = np.eye(num_actions)
        # Row t: every plan's action in round t + 1.
        self._actions = np.stack([_actions(plan, horizon) for plan in self.plans], axis=1)

    def act(self) -> FloatArray:
        """The planned action."""
        # Past the horizon, or before it in a round that does not count, the nearest action is played.
        actions = self._actions[min(self._t, len(self._actions) - 1)]
        self._t += 1
        return self._eye[np.broadcast_to(actions, self._num_runs)]

    def observe(self, losses: FloatArray) -> None:
        """Nothing to learn."""


def _actions(plan: Plan, horizon: int) -> IntArray:
    """The action of every round, shape (horizon,)."""
    ends = np.round(np.cumsum([share for share, _ in plan]) * horizon).astype(np.int64)
    return np.repeat([action for _, action in plan], np.diff(ends, prepend=0))


def best_plan(
    game: NormalFormGame, agent: AgentLike, *, horizon: int, num_shares: int = 20
) -> tuple[Plan, float]:
    """The plan of two phases that pays player 0 most against `agent` as player 1, and what it pays a round.

    Every pair of actions is tried with every share k / num_shares of the horizon for the first, each
    against the agent itself: the optimiser knows the algorithm.

    Args:
        game: a game of two players.
        agent: what player 1 is known to be; its play must not be random.
        horizon: rounds.
        num_shares: how finely the share is tried.
    """
    plans = list(_two_phases(game.num_actions[0], at_least("num_shares", num_shares, 1)))
    play = simulate(game, [Optimiser(plans), agent], horizon=horizon, num_runs=len(plans))
    payoffs = -np.trace(play.play_losses[0], axis1=1, axis2=2) / horizon
    best = int(payoffs.argmax())
    return plans[best], float(payoffs[best])


def _two_phases(num_actions: int, num_shares: int) -> Iterable[Plan]:
    for first, second in itertools.permutations(range(num_actions), 2):
        for k in range(1, num_shares + 1):
            yield (k / num_shares, first), (1 - k / num_shares, second)
