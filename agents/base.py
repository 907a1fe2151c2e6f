"""The agent interface.

An agent plays `num_runs` independent runs at once. In every round it is asked for its policies
(`act`) and then shown the losses of all actions (`observe`), or estimates of them. If feedback is delayed,
losses arrive later, but always in the order of their rounds.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np

from regret_envs.agents.usage import Usage
from regret_envs.arrays import FloatArray
from regret_envs.feedback import AssumedLosses, Takes
from regret_envs.play.hooks import Hooks

Bounds = Literal["external", "swap", "internal", "tracking", "adaptive", ""]


class Agent(Hooks, ABC):
    """An online-learning agent: subclass it and write three methods.

    The k-th call of `observe` delivers the losses of the round of the k-th call of `act`: usually the latest
    one, under delay an earlier one. An agent that needs the policy it played calls `super().reset(...)`
    in `reset`, `self.remember(policy)` in `act` and `self.recall()` in `observe`.

    An agent that can use more than its losses overrides `describe` (which world is played) or `watch` (what
    the others played).

    Attributes:
        reference: the paper that introduced the agent.
        guarantee: its guarantee in a few words; ρ is the range of a round's losses.
        bounds: the kind of regret that the guarantee bounds, "" without a guarantee; under bandit feedback
            its expectation.
        takes: what feedback it plays under: "any" (losses or estimates of them), "full" (the losses of all
            actions alone) or "bandit" (that of the drawn action alone).
        assumed_losses: what it assumes of losses: "any" (nothing), "range" (a round's losses span at most
            `loss_range`) or "interval" (they lie in [0, `loss_range`], the layer's offset taken off).
        sees_own_draw: whether it must see the loss of the action that it chose itself, so that it cannot be
            copied in a reduction, where an action is drawn from the mixture of the copies.
        shares_bound: whether `regret_bound` is concave in the squares of the rounds' ranges, so that
            the copies in a swap-regret reduction, which share the losses, share the bound too.
        depends_on: files and folders that decide its play, such as weights: from the folder of its module, or
            from the working folder. Results are kept apart when they change.
        usage: what play has used so far, of an agent that asks somebody else; None for all others. It is
            kept with the results.
    """

    reference: ClassVar[str] = ""
    guarantee: ClassVar[str] = ""
    bounds: ClassVar[Bounds] = ""
    takes: Takes = "any"
    assumed_losses: AssumedLosses = "any"
    sees_own_draw: ClassVar[bool] = False
    shares_bound: ClassVar[bool] = False
    depends_on: Sequence[str | PathLike[str]] = ()
    usage: Usage | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @abstractmethod
    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin `num_runs` runs and forget the ones before. Here: nothing is remembered.

        Args:
            num_actions: d.
            horizon: rounds that will be played, or None if that is unknown.
            num_runs: independent runs played at once.
            rng: the source of all randomness of the agent.
        """
        self._remembered: deque[Any] = deque()

    def remember(self, played: Any) -> None:
        """Keep what was played, or anything else about the round, until its losses arrive."""
        self._remembered.append(played)

    def recall(self) -> Any:
        """What was kept of the round whose losses arrived."""
        return self._remembered.popleft()

    @abstractmethod
    def act(self) -> FloatArray:
        """The policies of the round, shape (num_runs, num_actions), rows on the simplex."""

    @abstractmethod
    def observe(self, losses: FloatArray) -> None:
        """Receive the losses of every action in the round, shape (num_runs, num_actions).

        They may be kept, but are often read-only: change a copy.
        """

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """Why the agent cannot play such a problem, or None if it can (the default).

        A benchmark shows the cell as `n/a` with this reason: it is neither a failure nor a score.
        """
        return None

    def set_range(self, loss_range: float | None) -> None:
        """Learn ρ before `reset`, where losses lie in [0, ρ] and the agent assumes such an interval.

        Args:
            loss_range: ρ; None where the world does not know it, or it is the default.
        """

    @property
    def played_range(self) -> float | None:
        """ρ as the agent plays, of one that assumes an interval; None of all others."""
        return None

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float | None:
        """An upper bound on the regret named by `bounds`, or None without one (the default).

        Args:
            num_actions: d.
            horizon: T, told to the agent.
            loss_range: ρ, an upper bound of max_a ℓ_t(a) − min_a ℓ_t(a) over the rounds.

        Returns:
            The bound, in units of loss.
        """
        return None

    def as_copy(self, num_copies: int) -> Agent:
        """An unplayed agent with the same settings, to be one of `num_copies` in a swap-regret reduction.

        The copies share the losses of every round: copy i receives π_t(i) ℓ_t. So an agent whose default
        step size depends on the scale of the losses multiplies it by `num_copies`.
        """
        return copy.deepcopy(self)


class Reduction(Agent):
    """An agent made of copies of another one: everything that the copies need is asked for in their name.

    Subclasses are dataclasses with a field `copies` and name in `_live_copies` the ones that play.

    Attributes:
        copies: the agent that is copied.
        takes: what feedback the copies play under.

    Raises:
        TypeError: if `copies` is not an agent.
    """

    copies: Agent

    def __post_init__(self) -> None:
        if not isinstance(self.copies, Agent):
            raise TypeError(f"copies must be an agent, got {self.copies!r}")
        self.takes = self.copies.takes
        self.assumed_losses = self.copies.assumed_losses

    def set_range(self, loss_range: float | None) -> None:
        """Tell the copies."""
        self.copies.set_range(loss_range)

    @property
    def played_range(self) -> float | None:
        """The copies'."""
        return self.copies.played_range

    @abstractmethod
    def _live_copies(self) -> Agent:
        """A copy that is playing, after `reset`."""

    @property
    def implicit_exploration(self) -> float:
        """γ that the copies ask of bandit feedback, 0 where they ask for none."""
        return float(getattr(self._live_copies(), "implicit_exploration", 0.0))

    def copy_horizons(self, num_actions: int, horizon: int | None) -> Iterable[int | None]:
        """The horizons that the copies are told; by default the agent's own."""
        return (horizon,)

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """What the copies cannot play, at any horizon that they are told."""
        if self.copies.sees_own_draw:
            return f"its copies, {self.copies!r}, must see the loss of the action that they drew themselves"
        horizons = dict.fromkeys(self.copy_horizons(num_actions, horizon))
        return next(filter(None, (self.copies.unsupported(num_actions, horizon=n) for n in horizons)), None)


class SingleRunAgent(Agent):
    """An agent written for one run with 1-D arrays; it is copied for every run.

    Subclasses write `reset_run`, `act_run` and `observe_run`; every copy remembers and recalls for itself.
    """

    _runs: list[SingleRunAgent]

    @abstractmethod
    def reset_run(self, num_actions: int, *, horizon: int | None, rng: np.random.Generator) -> None:
        """Begin one run; arguments as in `Agent.reset`."""

    @abstractmethod
    def act_run(self) -> FloatArray:
        """The policy of the round, shape (num_actions,)."""

    @abstractmethod
    def observe_run(self, losses: FloatArray) -> None:
        """Receive the losses of the round, shape (num_actions,)."""

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Make a copy of the agent for every run, each with its own generator."""
        self._runs = []
        runs = [copy.deepcopy(self) for _ in range(num_runs)]
        for run, child in zip(runs, rng.spawn(num_runs), strict=True):
            run._remembered = deque()
            run.reset_run(num_actions, horizon=horizon, rng=child)
        self._runs = runs

    def act(self) -> FloatArray:
        """Every run's policy, shape (num_runs, num_actions).

        Raises:
            ValueError: if the policies of two runs have different shapes.
        """
        policies = [np.asarray(run.act_run()) for run in self._runs]
        try:
            return np.stack(policies)
        except ValueError:
            run = next(r for r, policy in enumerate(policies) if policy.shape != policies[0].shape)
            raise ValueError(
                f"{self!r} returned a policy of shape {policies[run].shape} in run {run}, and of "
                f"{policies[0].shape} in run 0"
            ) from None

    def observe(self, losses: FloatArray) -> None:
        """Hand every run its row of `losses`."""
        for run, row in zip(self._runs, losses, strict=True):
            run.observe_run(row)
