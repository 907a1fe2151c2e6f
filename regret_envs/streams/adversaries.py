"""Losses that react to the agent: the worst case that regret bounds are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from regret_envs import games
from regret_envs.arrays import FloatArray
from regret_envs.games import Game, NormalFormGame
from regret_envs.seeding import RunSeeds
from regret_envs.validation import at_least
from regret_envs.worlds import Bounds, Episode, World


@dataclass(frozen=True)
class AdaptiveAdversary(World):
    """Sees the round's policy and chooses the losses, −1 or 1, that force the most regret.

    With R_a the agent's regret so far against action a, the adversary watches the potential
    Φ = Σ_a exp(λ R_a), λ = sqrt(2 ln d / T), and its weights w_a = exp(λ R_a) / Φ. It looks at
    three vectors of losses and plays the one that raises Φ most:

    - a split of the actions into halves of about the same weight, and its negative: the losses'
      variance under w is then as large as possible, which raises Φ to second order in λ whatever the
      policy. Since exp is convex, one of the two never lowers Φ;
    - sign(π_a − w_a), which raises it to first order where the agent does not play π = w.

    Hence max_a R_a ≥ ln(Φ / d) / λ ≥ 0 after every round. Measured at d from 2 to 30, R_T is about half of
    sqrt(2 T ln d) or more against every agent of the library (the minimax regret tends to all of it for
    large T and d), and linear in T against the uniform policy and follow the leader.

    For swap regret the same is done with the regrets R_{ia} = Σ_t π_t(i) (ℓ_t(i) − ℓ_t(a)) of every row i of
    the play–loss matrix: λ is d times as large, ln Φ is summed over the rows, and w is the average of
    the rows' weights under π.

    The potential is that of Cesa-Bianchi and Lugosi 2006, Chapter 2; an adversary that raises it is
    the other side of Schapire's drifting games (2001). Nothing is random.

    Args:
        num_actions: d.
        regret: "external" or "swap", the regret to force.

    Raises:
        ValueError: if `num_actions` is below 1 or the regret is of another kind.
    """

    num_actions: int = 3
    _: KW_ONLY
    regret: Literal["external", "swap"] = "external"

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        if self.regret not in ("external", "swap"):
            raise ValueError(f"regret must be 'external' or 'swap', got {self.regret!r}")

    def loss_bounds(self, player: int) -> Bounds:
        """[−1, 1]."""
        return -1.0, 1.0

    @property
    def loss_scale(self) -> float:
        """The range, 2."""
        return 2.0

    def seats(self, num_agents: int) -> tuple[int]:
        """One agent.

        Raises:
            ValueError: if there is another number of them.
        """
        return _one_agent(self, num_agents)

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> AdaptiveEpisode:
        """Begin an episode; λ is set by the horizon."""
        (num_actions,) = self.seats(num_agents)
        return AdaptiveEpisode(num_actions, self.regret == "swap", horizon, seeds.num_runs)


# Differences below this are ties, so that the last bits of a policy, which depend on the batch, do not
# decide which losses are played.
_TIE = 1e-9


class AdaptiveEpisode(Episode):
    """The agent's regrets in `num_runs` runs."""

    answers_actions = False

    def __init__(self, num_actions: int, swap: bool, horizon: int, num_runs: int) -> None:
        self._swap = swap
        self._rate = np.sqrt(2 * np.log(num_actions) / horizon) * (num_actions if swap else 1)
        # λ R: one row, or for swap regret one row per action.
        self._regrets = np.zeros((num_actions if swap else 1, num_actions, num_runs))

    def step(self, policies: Sequence[FloatArray]) -> list[FloatArray]:
        """The losses that raise the potential most, of the three looked at."""
        policy = policies[0].T
        weights = np.exp(self._regrets - self._regrets.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        weights = (policy[:, None] * weights).sum(0) if self._swap else weights[0]
        split = _split(weights)
        response = np.where(policy - weights > _TIE, 1.0, -1.0)

        losses, gains = split, self._gains(policy, split)
        best = self._log_potential(gains)
        for other in (-split, response):
            other_gains = self._gains(policy, other)
            potential = self._log_potential(other_gains)
            better = potential > best + _TIE
            losses, gains = np.where(better, other, losses), np.where(better, other_gains, gains)
            best = np.where(better, potential, best)
        self._regrets += gains
        return [losses.T]

    def _gains(self, policy: FloatArray, losses: FloatArray) -> FloatArray:
        """What `losses` would add to λ R."""
        if self._swap:
            return self._rate * policy[:, None] * (losses[:, None] - losses)
        return self._rate * ((policy * losses).sum(0) - losses)[None]

    def _log_potential(self, gains: FloatArray) -> FloatArray:
        """Σ over the rows of ln Σ_a exp(λ R_a) after `gains`, shape (num_runs,)."""
        return np.logaddexp.reduce(self._regrets + gains, axis=1).sum(0)


def _split(weights: FloatArray) -> FloatArray:
    """Signs (num_actions, num_runs) that split the weights: heaviest first, each to the lighter side."""
    order = np.argsort(-weights.round(9), axis=0, kind="stable")
    signs = np.empty_like(weights)
    balance = np.zeros(weights.shape[1])
    for action, weight in zip(order, np.take_along_axis(weights, order, axis=0), strict=True):
        sign = np.where(balance > _TIE, -1.0, 1.0)
        np.put_along_axis(signs, action[None], sign[None], axis=0)
        balance += sign * weight
    return signs


@dataclass(frozen=True)
class BestResponse(World):
    """The other player of a game, which sees the round's policy and best-responds to it.

    In a zero-sum game every round costs the agent at least the value, and one that plays pure actions its
    worst: in matching pennies follow the leader (fictitious play) loses every round, and its regret is
    linear. Ties go to the lowest index; deterministic.

    Args:
        game: a game of two players, or the name of one, as in `games.make`.
        player: the agent's seat.

    Raises:
        ValueError: if there is no such game or seat, or not two players; an unknown name lists the near ones.
    """

    game: NormalFormGame | str = "matching_pennies"
    _: KW_ONLY
    player: Literal[0, 1] = 0

    def __post_init__(self) -> None:
        if self.player not in (0, 1):
            raise ValueError(f"player must be 0 or 1, got {self.player!r}")
        if not isinstance(self._game, NormalFormGame) or self._game.num_players != 2:
            raise ValueError(f"game must be one game of two players, got {self._game!r}")

    @cached_property
    def _game(self) -> Game:
        return games.make(self.game) if isinstance(self.game, str) else self.game

    @property
    def num_actions(self) -> int:
        """The actions of the agent."""
        return self._game.num_actions[self.player]

    def loss_bounds(self, player: int) -> Bounds | None:
        """The game's, for the agent's seat."""
        return self._game.loss_bounds(self.player)

    @property
    def loss_scale(self) -> float:
        """The game's."""
        return self._game.loss_scale

    def seats(self, num_agents: int) -> tuple[int]:
        """One agent.

        Raises:
            ValueError: if there is another number of them.
        """
        return _one_agent(self, num_agents)

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> BestResponseEpisode:
        """Begin an episode."""
        self.seats(num_agents)
        assert isinstance(self._game, NormalFormGame)
        own, other = self._game.losses[self.player], self._game.losses[1 - self.player]
        return BestResponseEpisode(*((own, other) if self.player == 0 else (own.T, other.T)))


class BestResponseEpisode(Episode):
    """The losses of the agent and of its opponent, (num_actions, the opponent's actions) both."""

    answers_actions = False

    def __init__(self, losses: FloatArray, opponent: FloatArray) -> None:
        self._losses = losses
        self._opponent = opponent

    def step(self, policies: Sequence[FloatArray]) -> list[FloatArray]:
        """The losses against the best response."""
        expected = self._opponent.T @ policies[0].T
        response = (expected <= expected.min(0) + _TIE).argmax(0)
        return [self._losses[:, response].T]


class _Sized(Protocol):
    @property
    def num_actions(self) -> int: ...


def _one_agent(world: _Sized, num_agents: int) -> tuple[int]:
    if num_agents != 1:
        raise ValueError(f"{world!r} plays against exactly one agent, got {num_agents}")
    return (world.num_actions,)
