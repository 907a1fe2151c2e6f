"""Bandit agents for i.i.d. losses: they play one action per round, so the estimate is its loss itself."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from regret_envs.agents.bandits.adversarial import AssumesInterval
from regret_envs.arrays import FloatArray, IntArray


@dataclass(eq=False)
class OneActionAgent(AssumesInterval):
    """An agent that plays one action a round and keeps how often each was played and what it lost.

    Args:
        loss_range: ρ; the losses seen, the layer's offset taken off, lie in [0, ρ]. None: as the world says,
            else 1.

    Raises:
        ValueError: if ρ is not positive and finite.
    """

    _: KW_ONLY
    loss_range: float | None = None

    bounds = "external"
    takes = "bandit"
    sees_own_draw = True

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Forget all plays."""
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self._rng = rng
        self._t = 0
        self._counts = np.zeros((num_actions, num_runs))
        self._lost = np.zeros((num_actions, num_runs))  # in units of ρ
        self._runs = np.arange(num_runs)

    def _choose(self, actions: IntArray) -> FloatArray:
        """The policies that play `actions`, shape (num_runs,)."""
        self.remember(actions)
        policies = np.zeros_like(self._counts)
        policies[actions, self._runs] = 1.0
        return policies.T

    def _seen(self, losses: FloatArray) -> tuple[IntArray, FloatArray]:
        """The actions of the first round not seen yet, and their losses over ρ."""
        actions = self.recall()
        self._t += 1
        return actions, np.asarray(losses, dtype=np.float64).T[actions, self._runs] / self.played_range


@dataclass(eq=False)
class UCB1(OneActionAgent):
    """UCB1: the action with the lowest mean loss less ρ sqrt(2 ln t / n), n being how often it was played.

    Every action is played once first; ties go to the lowest index.

    Guarantee: where losses are independent and identically distributed, the pseudo-regret is at most
    Σ_a (8 ρ² ln T / Δ_a + (1 + π²/3) Δ_a) over actions worse by Δ_a (Auer, Cesa-Bianchi and Fischer,
    "Finite-Time Analysis of the Multiarmed Bandit Problem", 2002, Theorem 1). None against an
    adversary.
    """

    reference = "Auer, Cesa-Bianchi and Fischer 2002"
    guarantee = "i.i.d.: external pseudo-regret ≤ Σ (8 ρ² ln T / Δ + (1 + π²/3) Δ)"

    def act(self) -> FloatArray:
        """The optimist's choice."""
        played = np.maximum(self._counts, 1.0)
        index = self._lost / played - np.sqrt(2 * math.log(max(self._t, 1)) / played)
        index[self._counts == 0] = -np.inf
        return self._choose(index.argmin(axis=0))

    def observe(self, losses: FloatArray) -> None:
        """Count the play."""
        actions, seen = self._seen(losses)
        self._counts[actions, self._runs] += 1
        self._lost[actions, self._runs] += seen


@dataclass(eq=False)
class ThompsonSampling(OneActionAgent):
    """Thompson sampling: the action that is best in a draw from the posterior of the mean losses.

    Beta posteriors from the uniform prior; a loss that is not 0 or ρ counts as a failure with probability
    loss / ρ, clipped to [0, 1].

    Guarantee: where losses are independent and identically distributed, the expected regret is at most
    (1 + ε) Σ_a Δ_a ln T / kl(μ_a, μ*) + O(d / ε²) (Thompson 1933; Agrawal and Goyal, "Further Optimal
    Regret Bounds for Thompson Sampling", AISTATS 2013, Theorem 1). None against an adversary.
    """

    reference = "Thompson 1933; Agrawal and Goyal 2013"
    guarantee = "i.i.d.: expected external regret ≤ (1 + ε) Σ Δ ln T / kl + O(d / ε²)"

    def act(self) -> FloatArray:
        """The best action of a draw."""
        return self._choose(self._rng.beta(self._lost + 1, self._counts - self._lost + 1).argmin(axis=0))

    def observe(self, losses: FloatArray) -> None:
        """Count the play, and the failure."""
        actions, seen = self._seen(losses)
        self._counts[actions, self._runs] += 1
        self._lost[actions, self._runs] += self._rng.random(len(actions)) < seen
