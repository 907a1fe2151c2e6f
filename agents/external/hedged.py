"""AdaHedge over agents: nearly as good as the best of them, whatever the losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regret_envs.agents.base import Agent, Bounds
from regret_envs.agents.external.hedge import AdaHedge
from regret_envs.arrays import FloatArray


@dataclass(eq=False)
class Hedged(Agent):
    """Plays the mixture of its members' policies with AdaHedge's weights over the members.

    Member k loses ⟨p_{k,t}, ℓ_t⟩ in round t, which spans at most the range of ℓ_t, so with K members

        R_T ≤ min_k R_T(k) + ρ sqrt(T ln K) + ρ (4/3 ln K + 2)

    for losses of range ρ, known or not (de Rooij, van Erven, Grünwald and Koolen, JMLR 2014, Theorem 6).
    Every member is shown the losses as if it had played alone.

    Args:
        members: the agents, at least one.

    Raises:
        ValueError: if there are no members, or one plays only under bandit feedback.
    """

    members: Sequence[Agent]

    reference = "de Rooij, van Erven, Grünwald and Koolen 2014"
    guarantee = "external regret ≤ the best member's + ρ sqrt(T ln K) + ρ (4/3 ln K + 2)"
    bounds: ClassVar[Bounds] = "external"
    takes = "any"

    def __post_init__(self) -> None:
        self.members = tuple(self.members)
        if not self.members:
            raise ValueError("hedged needs at least one member, as in hedged[members=(hedge,rm+)]")
        for member in self.members:
            if member.takes == "bandit":
                raise ValueError(f"{member!r} plays under bandit feedback alone, which a member cannot")

    def __repr__(self) -> str:
        return f"Hedged({', '.join(map(repr, self.members))})"

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """What a member cannot play, all cannot."""
        reasons = (member.unsupported(num_actions, horizon=horizon) for member in self.members)
        return next((reason for reason in reasons if reason is not None), None)

    def as_copy(self, num_copies: int) -> Hedged:
        """Hedged copies of the members."""
        return Hedged([member.as_copy(num_copies) for member in self.members])

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float | None:
        """The least of the members' bounds on external or swap regret, and AdaHedge's; None without one."""
        if num_actions == 1:
            return 0.0
        bounds = [
            bound
            for member in self.members
            if member.bounds in ("external", "swap")  # swap regret is never below external regret
            and (bound := member.regret_bound(num_actions, horizon, loss_range)) is not None
        ]
        if not bounds:
            return None
        return min(bounds) + AdaHedge().regret_bound(len(self.members), horizon, loss_range)

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin with all members, each with a generator of its own, and equal weights."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        for member, child in zip(self.members, rng.spawn(len(self.members)), strict=True):
            member.reset(num_actions, horizon=horizon, num_runs=num_runs, rng=child)
        self._weights = AdaHedge()
        self._weights.reset(len(self.members), horizon=horizon, num_runs=num_runs, rng=rng)

    def act(self) -> FloatArray:
        """Σ_k w_k p_k."""
        played = [np.asarray(member.act()).T for member in self.members]
        self.remember(played)
        mixture = np.zeros_like(played[0])
        for weight, policy in zip(self._weights.act().T, played, strict=True):
            mixture += weight * policy
        return mixture.T

    def observe(self, losses: FloatArray) -> None:
        """Show the members the losses, and AdaHedge what each of them lost."""
        centered = np.asarray(losses, dtype=np.float64).T
        centered = centered - centered.min(0)  # a common level costs no digits
        lost = np.array([(policy * centered).sum(0) for policy in self.recall()])
        self._weights.observe(_without_last_bits(lost - lost[0], centered.max(0)).T)
        for member in self.members:
            member.observe(losses)


_RESOLUTION = 1e-12


def _without_last_bits(losses: FloatArray, loss_range: FloatArray) -> FloatArray:
    """The losses to 1e-12 of the range: AdaHedge's first step is infinite, and members that tie must tie."""
    unit = np.where(loss_range > 0, loss_range, 1.0) * _RESOLUTION
    rounded: FloatArray = np.rint(losses / unit) * unit
    return rounded
