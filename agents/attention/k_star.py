"""k*(d, T): the step size that regret loss trains linear attention to."""

from __future__ import annotations

import csv
import math
import os
from functools import cache
from pathlib import Path

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.validation import at_least

_TABLE = Path(__file__).parent / "data" / "k_star.csv"
_REPLICATES = 16
_SAMPLES = 1 << 14


class KStar(float):
    """k*, a float with the standard error of its Monte Carlo estimate.

    Attributes:
        standard_error: over independent replicates.
    """

    standard_error: float

    def __new__(cls, value: float, standard_error: float) -> KStar:
        number = super().__new__(cls, value)
        number.standard_error = standard_error
        return number

    def __reduce__(self) -> tuple[type[KStar], tuple[float, float]]:
        return KStar, (float(self), self.standard_error)


@cache
def k_star(num_actions: int, horizon: int) -> KStar:
    """The minimizer k*(d, T) of E[R_T²], for π_{t+1} = softmax(−k Σ_{s≤t} ℓ_s) and ℓ_t ~ N(0, I).

    From the table in the package, else from the user's cache ($XDG_CACHE_HOME/regret-envs or
    ~/.cache/regret-envs), else computed, a second or so, and kept there.

    Args:
        num_actions: d ≥ 2.
        horizon: T ≥ 2; with one action or one round every k gives the same play.

    Raises:
        ValueError: if d or T is below 2.
    """
    key = at_least("num_actions", num_actions, 2), at_least("horizon", horizon, 2)
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regret-envs" / "k_star.csv"
    for path in (_TABLE, cached):
        found = _read(path).get(key)
        if found is not None:
            return found
    value = compute_k_star(*key)
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with cached.open("a", encoding="utf-8") as file:
            file.write(f"{key[0]},{key[1]},{float(value)!r},{value.standard_error!r}\n")
    except OSError:
        pass  # a cache that cannot be written costs a second next time
    return value


def _read(path: Path) -> dict[tuple[int, int], KStar]:
    table = {}
    try:
        with path.open(encoding="utf-8") as file:
            for row in csv.reader(file):
                if len(row) == 4 and row[0].isdigit():
                    table[int(row[0]), int(row[1])] = KStar(float(row[2]), float(row[3]))
    except (OSError, ValueError):
        return {}
    return table


def compute_k_star(
    num_actions: int, horizon: int, *, samples: int = _SAMPLES, replicates: int = _REPLICATES, seed: int = 0
) -> KStar:
    """Compute k* anew: the mean of the roots of L′ over independent replicates.

    Within a replicate every k is tried on the same random numbers. See `derivative` for L′.

    Args:
        num_actions: d ≥ 2.
        horizon: T ≥ 2.
        samples: a replicate.
        replicates: their number; the standard error comes from their scatter.
        seed: of the random numbers.
    """
    from scipy.optimize import brentq

    roots = []
    for rng in np.random.default_rng([seed, num_actions, horizon]).spawn(replicates):
        draw = Hindsight.sample(num_actions, horizon, samples, rng)
        # k* √T lies between 1.8 (d = 2) and 4 or so; the bracket is wide of it at any d.
        low, high = 0.3 / math.sqrt(horizon), 4 * math.sqrt(num_actions / horizon) + 4 / math.sqrt(horizon)
        roots.append(brentq(lambda k, draw=draw: draw.derivative(k).mean(), low, high, xtol=1e-6))
    return KStar(float(np.mean(roots)), float(np.std(roots, ddof=1) / math.sqrt(replicates)))


class Hindsight:
    """Random rounds, each with what was known then and the action that was best in the end.

    With S the sum of all losses, a* its smallest entry and e its indicator, Stein's lemma gives, for
    policies that depend on past N(0, I) losses alone,

        E[R_T²] = E Σ_t ‖π_t − e‖² − T + E[(min_a S(a))²],

    so the squared regret scores π_t as a forecast of a*. Round t enters through s = Σ_{i<t} ℓ_i alone, which
    is N(0, (t−1) I) with S − s ~ N(0, (T−t+1) I) independent: a sample needs no sequence, only a
    round, and costs O(d) whatever T is.

    Attributes:
        before: s, shape (samples, d).
        best: a*, shape (samples,).
        weight: rounds that a sample stands for, T − 1 (in round 1 nothing depends on k).
    """

    def __init__(self, before: FloatArray, total: FloatArray, weight: float) -> None:
        self.before, self.best, self.weight = before, total.argmin(1), weight

    @classmethod
    def sample(cls, num_actions: int, horizon: int, samples: int, rng: np.random.Generator) -> Hindsight:
        """Samples over rounds 2 … T, stratified."""
        t = 2 + ((np.arange(samples) + rng.random(samples)) * ((horizon - 1) / samples)).astype(int)
        t = np.minimum(t, horizon)[:, None]
        before = np.sqrt(t - 1) * rng.standard_normal((samples, num_actions))
        after = np.sqrt(horizon - t + 1) * rng.standard_normal((samples, num_actions))
        return cls(before, before + after, horizon - 1)

    def _policies(self, k: float) -> FloatArray:
        logits = -k * self.before
        weights = np.exp(logits - logits.max(1, keepdims=True))
        policies: FloatArray = weights / weights.sum(1, keepdims=True)
        return policies

    def objective(self, k: float) -> FloatArray:
        """Samples of E[R_T²] up to what does not depend on k: Σ_t (‖π_t‖² − 2 π_t(a*))."""
        policies = self._policies(k)
        at_best = policies[np.arange(len(policies)), self.best]
        return self.weight * ((policies**2).sum(1) - 2 * at_best)

    def derivative(self, k: float) -> FloatArray:
        """Samples of L′(k) = 2 E Σ_t ⟨π_t − e, dπ_t/dk⟩, dπ/dk = π ∘ (⟨π, s⟩ − s)."""
        policies = self._policies(k)
        slope = policies * ((policies * self.before).sum(1, keepdims=True) - self.before)
        at_best = slope[np.arange(len(slope)), self.best]
        return 2 * self.weight * ((policies * slope).sum(1) - at_best)
