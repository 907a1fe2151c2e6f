"""Fixed-Share: Hedge that stays ready to switch."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from regret_envs.agents.base import Agent
from regret_envs.arrays import FloatArray
from regret_envs.simplex import softmax
from regret_envs.validation import at_least, non_negative


@dataclass(eq=False)
class FixedShare(Agent):
    """Fixed-Share: a round of Hedge, after which a share α of the weight is spread evenly.

    π_{t+1} = (1 − α) π̃ + α/d with π̃(a) ∝ π_t(a) exp(−η ℓ_t(a)).

    Args:
        num_switches: S, how often the best action is expected to change; 0: Hedge.
        step_size: η. None:
            sqrt(2 K / T), where K = (S + 1) ln d + S ln(1/α) + (T − S − 1) ln(1/(1 − α)), right for
            losses of range 2, as in [−1, 1]; sqrt(2 (S + 1) ln(d (t + 1)) / t) where the horizon T is
            unknown, t counting the rounds seen (at least 1).
        share: α. None: S / (T − 1), or S / (S + t) where the horizon is unknown.

    Raises:
        ValueError: if `num_switches` or `step_size` is negative or not finite, or the share is not in [0, 1].

    Guarantee: the regret against sequences with at most S switches is at most K / η + η ρ² T / 8 for losses
    of range ρ (Herbster and Warmuth, "Tracking the Best Expert", 1998; in this form Cesa-Bianchi and
    Lugosi 2006, Theorem 5.2).
    """

    num_switches: int = 5
    _: KW_ONLY
    step_size: float | None = None
    share: float | None = None

    reference = "Herbster and Warmuth 1998"
    guarantee = "tracking regret ≤ K / η + η ρ² T / 8, K ≈ (S + 1) ln d + S ln(T / S)"
    bounds = "tracking"

    def __post_init__(self) -> None:
        at_least("num_switches", self.num_switches, 0)
        if self.step_size is not None:
            non_negative("step_size", self.step_size)
        if isinstance(self.share, str) or (self.share is not None and not 0 <= self.share <= 1):
            raise ValueError(f"share must lie in [0, 1], got {self.share!r}")

    def settings(self, num_actions: int, horizon: int) -> tuple[float, float, float]:
        """α, η and K, T being known."""
        switches = min(self.num_switches, horizon - 1)
        share = switches / max(horizon - 1, 1) if self.share is None else self.share
        penalty = (switches + 1) * math.log(num_actions)
        for count, chance in ((switches, share), (horizon - switches - 1, 1 - share)):
            if count:
                penalty += count * (-math.log(chance) if chance else math.inf)
        # A share of 0 or 1 has no bound against switches; the step is then Hedge's.
        tuned = penalty if math.isfinite(penalty) else math.log(num_actions)
        step = math.sqrt(2 * tuned / horizon) if self.step_size is None else self.step_size
        return share, step, penalty

    def regret_bound(self, num_actions: int, horizon: int, loss_range: float) -> float:
        """K / η + η ρ² T / 8, for the tracking regret with `num_switches`."""
        if num_actions == 1:
            return 0.0
        _, step, penalty = self.settings(num_actions, horizon)
        return penalty / step + step * loss_range**2 * horizon / 8 if step > 0 else math.inf

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Start from the uniform policy."""
        self._t = 0
        self._logits = np.zeros((num_actions, num_runs))
        self._settled = None if horizon is None else self.settings(num_actions, horizon)[:2]

    def act(self) -> FloatArray:
        """The weights, normalized."""
        return softmax(self._logits.copy()).T

    def observe(self, losses: FloatArray) -> None:
        """A round of Hedge, then the share."""
        self._t += 1
        num_actions = len(self._logits)
        if self._settled is not None:
            share, step = self._settled
        else:
            share = self.num_switches / (self.num_switches + self._t) if self.share is None else self.share
            scale = 2 * (self.num_switches + 1) * math.log(num_actions * (self._t + 1))
            step = math.sqrt(scale / self._t) if self.step_size is None else self.step_size
        self._logits -= step * np.asarray(losses, dtype=np.float64).T
        if share:
            weights = softmax(self._logits)
            weights *= 1 - share
            weights += share / num_actions
            np.log(weights, out=self._logits)
