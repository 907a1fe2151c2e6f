"""What regret loss on Gaussian losses asks for, if the architecture does not stand in the way."""

from __future__ import annotations

import numpy as np

from regret_envs.agents import Agent
from regret_envs.arrays import FloatArray


class HindsightForecaster(Agent):
    """π_t(a) = P(a = argmin_i S_T(i) | ℓ_1 … ℓ_{t−1}) for ℓ_t ~ N(0, I): the minimizer of E[R_T²].

    The squared-regret loss on i.i.d. Gaussian losses scores policies as forecasts of the action that
    is best in hindsight (`hindsight_brier`), so over all policies its minimizer is the true
    probability. It is follow the perturbed leader with Gaussian perturbations of variance T − t + 1.
    """

    reference = "the unrestricted minimizer of the squared-regret loss"
    guarantee = "none"

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin.

        Raises:
            ValueError: if the horizon is unknown.
        """
        if horizon is None:
            raise ValueError("the forecast depends on the horizon, and it is unknown")
        self._left = horizon
        self._cumulative = np.zeros((num_runs, num_actions))

    def act(self) -> FloatArray:
        """The probabilities, by Gauss–Hermite quadrature over the action's own total."""
        from scipy.special import ndtr

        nodes, weights = np.polynomial.hermite_e.hermegauss(48)
        z = self._cumulative / np.sqrt(max(self._left, 1))
        own = z[..., None] + nodes
        policies = np.empty_like(z)
        for a in range(z.shape[1]):
            beaten = np.ones_like(own[:, a])
            for other in range(z.shape[1]):
                if other != a:
                    beaten *= ndtr(z[:, other, None] - own[:, a])
            policies[:, a] = beaten @ weights
        return policies / policies.sum(1, keepdims=True)

    def observe(self, losses: FloatArray) -> None:
        """Add up the losses."""
        self._left -= 1
        self._cumulative = self._cumulative + losses
