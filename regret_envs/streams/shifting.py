"""Losses whose law changes: switches, seasons, and constructions of lower bounds."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.validation import at_least
from regret_envs.worlds import Stream


def check_probabilities(mean: float, gap: float) -> None:
    """Raise `ValueError` unless mean − gap and mean are probabilities and the gap is not negative."""
    if not 0 <= mean - gap <= mean <= 1:
        raise ValueError(f"mean and mean − gap must be probabilities, gap ≥ 0; got mean {mean}, gap {gap}")


@dataclass(frozen=True)
class PiecewiseStationary(Stream):
    """Independent losses in {0, 1} with S switches of the best action over the horizon.

    Every action errs with probability `mean`, the best of the time with `mean − gap`. The rounds of the
    switches are drawn uniformly, without two alike, and at each another action becomes the best: the
    setting of Herbster and Warmuth, "Tracking the Best Expert", 1998, and of Garivier and Moulines, 2011.

    Args:
        num_actions: d.
        num_switches: S.
        mean: probability of a loss of 1.
        gap: by how much it is lower for the best action.

    Raises:
        ValueError: if `num_actions` is below 2 (1 without switches), `num_switches` below 0 or not below the
            horizon, a probability lies outside [0, 1], or `gap` is negative.
    """

    num_actions: int = 3
    _: KW_ONLY
    num_switches: int = 4
    mean: float = 0.5
    gap: float = 0.25

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_switches", self.num_switches, 0)
        at_least("num_actions", self.num_actions, 2 if self.num_switches else 1)
        check_probabilities(self.mean, self.gap)

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> tuple[IntArray, IntArray]:
        """The rounds before which the best action changes, and the best action from each on."""
        if self.num_switches >= horizon:
            raise ValueError(
                f"num_switches must lie in 0 … horizon − 1 = {horizon - 1}, got {self.num_switches}"
            )
        switches = np.sort(rng.choice(horizon - 1, self.num_switches, replace=False)) + 1
        steps = rng.integers(1, max(self.num_actions, 2), self.num_switches)
        first = rng.integers(self.num_actions)
        return switches, (first + np.concatenate([[0], np.cumsum(steps)])) % self.num_actions

    def draw(
        self, rng: np.random.Generator, state: tuple[IntArray, IntArray], t: int, num_rounds: int
    ) -> FloatArray:
        """Fresh errors."""
        switches, best = state
        rounds = np.arange(num_rounds)
        means = np.full((num_rounds, self.num_actions), self.mean)
        means[rounds, best[np.searchsorted(switches, t + rounds, side="right")]] -= self.gap
        return (rng.random(means.shape) < means).astype(np.float64)


@dataclass(frozen=True)
class Seasonal(Stream):
    """Independent losses in {0, 1} with probabilities that come and go with the seasons.

    Action a errs in round t with probability mean − amplitude · cos(2π (t / period − a / d)), so that every
    action is the best one for period / d rounds in turn.

    Args:
        num_actions: d.
        period: rounds of a year.
        mean: the mean probability of a loss of 1.
        amplitude: the greatest departure from it.

    Raises:
        ValueError: if `num_actions` or `period` is below 1, or mean ± amplitude are not probabilities.
    """

    num_actions: int = 3
    _: KW_ONLY
    period: int = 200
    mean: float = 0.5
    amplitude: float = 0.25

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        at_least("period", self.period, 1)
        if not 0 <= self.amplitude <= min(self.mean, 1 - self.mean):
            raise ValueError(
                f"mean ± amplitude must be probabilities, amplitude ≥ 0; got mean {self.mean}, "
                f"amplitude {self.amplitude}"
            )

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def draw(self, rng: np.random.Generator, state: None, t: int, num_rounds: int) -> FloatArray:
        """Fresh errors."""
        rounds = np.arange(t, t + num_rounds)[:, None] / self.period
        phases = 2 * np.pi * (rounds - np.arange(self.num_actions) / self.num_actions)
        means = self.mean - self.amplitude * np.cos(phases)
        return (rng.random(means.shape) < means).astype(np.float64)


@dataclass(frozen=True)
class StochasticallyConstrained(Stream):
    """Independent losses in {0, 1} whose level changes while one action stays better by the same gap.

    The means are 0 for the best action and `gap` for the others, and then 1 − gap and 1, in turn; phase
    n lasts 1.6^n rounds, rounded up. The best action is drawn once per run. Zimmert and Seldin,
    "Tsallis-INF", JMLR 2021, Section 6: agents made for independent losses (UCB1, Thompson sampling)
    are misled here.

    Args:
        num_actions: d.
        gap: by how much the best action is better.

    Raises:
        ValueError: if `num_actions` is below 1 or `gap` is not a probability.
    """

    num_actions: int = 3
    _: KW_ONLY
    gap: float = 0.125

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        if not 0 <= self.gap <= 1:
            raise ValueError(f"gap must lie in [0, 1], got {self.gap!r}")

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> int:
        """The best action."""
        return int(rng.integers(self.num_actions))

    def draw(self, rng: np.random.Generator, state: int, t: int, num_rounds: int) -> FloatArray:
        """Fresh errors."""
        high = np.searchsorted(_PHASE_ENDS, np.arange(t, t + num_rounds), side="right") % 2 == 1
        means = np.where(high, 1.0, self.gap)[:, None].repeat(self.num_actions, axis=1)
        means[:, state] -= self.gap
        return (rng.random(means.shape) < means).astype(np.float64)


_PHASE_ENDS = np.cumsum(np.ceil(1.6 ** np.arange(64.0)))


@dataclass(frozen=True)
class Reversal(Stream):
    """Two actions, of which the better one turns bad halfway; deterministic.

    Losses are (0, lead) in the first half of the rounds and (1, 0) in the second. Importance-weighted
    estimates make Exp3 play action 1 with a probability so small that a single such play rules it
    out for the rest: its regret has a variance of the order of T², which implicit exploration
    takes away (after Lattimore and Szepesvári, "Bandit Algorithms", 2020, Chapters 11 and 12).

    Args:
        lead: by how much action 0 is better in the first half.

    Raises:
        ValueError: if it does not lie in [0, 1].
    """

    lead: float = 0.25

    num_actions = 2

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        if not 0 <= self.lead <= 1:
            raise ValueError(f"lead must lie in [0, 1], got {self.lead!r}")

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> int:
        """The horizon."""
        return horizon

    def draw(self, rng: np.random.Generator, state: int, t: int, num_rounds: int) -> FloatArray:
        """The first half's losses, then the second's."""
        early = np.arange(t, t + num_rounds) < state / 2
        return np.where(early[:, None], [0.0, self.lead], [1.0, 0.0])


@dataclass(frozen=True)
class SwapLowerBound(Stream):
    """The lower bound for swap regret: groups of actions take turns at being worth playing.

    The actions are divided into d / m groups of m, and the rounds into as many phases. In a group's
    phase its actions lose 0 or 1 by fair coins and all others 1, so an agent without external regret
    plays within the group, where coins cannot be foreseen; in hindsight every group has a best action,
    and swap regret adds up what each would have saved: of order sqrt(d T ln m / m). After the pairs of
    Blum and Mansour, "From External to Internal Regret", JMLR 2007, m = 2. (Ito, "A Tight Lower Bound and
    Efficient Reduction for Swap Regret", NeurIPS 2020, proves sqrt(d T ln d) by other means.)

    Args:
        num_actions: d.
        group_size: m, a divisor of d.

    Raises:
        ValueError: if a number is below 1, or d is not a multiple of m.
    """

    num_actions: int = 4
    _: KW_ONLY
    group_size: int = 2

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        if self.num_actions % at_least("group_size", self.group_size, 1):
            raise ValueError(
                f"group_size must divide num_actions = {self.num_actions}, got {self.group_size}"
            )

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> tuple[IntArray, int]:
        """The groups' order, and the horizon."""
        return rng.permutation(self.num_actions // self.group_size), horizon

    def draw(
        self, rng: np.random.Generator, state: tuple[IntArray, int], t: int, num_rounds: int
    ) -> FloatArray:
        """Fresh coins for the group of the phase."""
        order, horizon = state
        group = order[np.arange(t, t + num_rounds) * len(order) // horizon]
        coins = (rng.random((num_rounds, self.num_actions)) < 0.5).astype(np.float64)
        belongs = np.arange(self.num_actions) // self.group_size == group[:, None]
        return np.where(belongs, coins, 1.0)


@dataclass(frozen=True)
class MisleadingLeader(Stream):
    """The action that leads always loses next: a sequence generated to mislead follow-the-leader.

    The action with the least cumulative loss so far (the lowest of those that tie) loses 1 − u in the round
    and the others u, with u uniform on [0, noise] for each of them. Nothing reacts to the agents. Whoever
    follows the leader loses at least 1 − noise in every round but the first, where the best action loses at
    most (1 + (d − 1) noise) / d per round on average, so that its regret is linear for small noise
    (Cesa-Bianchi and Lugosi, "Prediction, Learning, and Games", 2006, Section 4.3, has the deterministic
    case of two actions).

    Args:
        num_actions: d.
        noise: the largest departure from 0 and 1.

    Raises:
        ValueError: if `num_actions` is below 1 or `noise` lies outside [0, 1].
    """

    num_actions: int = 3
    _: KW_ONLY
    noise: float = 0.2

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        at_least("num_actions", self.num_actions, 1)
        if not 0 <= self.noise <= 1:
            raise ValueError(f"noise must lie in [0, 1], got {self.noise!r}")

    @property
    def loss_scale(self) -> float:
        """The range, 1."""
        return 1.0

    def start_run(self, rng: np.random.Generator, *, run: int, horizon: int) -> FloatArray:
        """The cumulative losses, shape (num_actions,)."""
        return np.zeros(self.num_actions)

    def draw(self, rng: np.random.Generator, state: FloatArray, t: int, num_rounds: int) -> FloatArray:
        """Fresh noise, and a loss for the leader of every round."""
        losses = self.noise * rng.random((num_rounds, self.num_actions))
        for row in losses:
            leader = state.argmin()
            row[leader] = 1.0 - row[leader]
            state += row
        return losses
