"""The probability simplex: as a Gymnasium space, and the Euclidean projection onto it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector.utils import batch_space

from regret_envs.metrics import SIMPLEX_TOLERANCE
from regret_envs.validation import at_least


class Simplex(Box):
    """Distributions over `num_actions` actions, {π ∈ [0, 1]^d : Σ_a π(a) = 1}, float32.

    A `Box`, so every library that supports boxes accepts it. Samples are uniform on the simplex
    (Dirichlet with all parameters 1).

    Args:
        num_actions: d.
        batch_shape: leading axes; each row along the last one is a distribution. `batch_space` makes
            such spaces.
        seed: of the sampler.

    Raises:
        TypeError: if a size is not an integer.
        ValueError: if `num_actions` is below 1 or a leading axis below 0.
    """

    def __init__(
        self,
        num_actions: int,
        *,
        batch_shape: tuple[int, ...] = (),
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.num_actions = at_least("num_actions", num_actions, 1)
        self.batch_shape = tuple(at_least("batch_shape", n, 0) for n in batch_shape)
        super().__init__(0.0, 1.0, (*self.batch_shape, self.num_actions), np.float32, seed)

    def sample(self, mask: None = None, probability: None = None) -> npt.NDArray[np.float32]:
        """Uniformly random distributions, float32.

        Raises:
            ValueError: if a mask is given; a simplex has none.
        """
        if mask is not None or probability is not None:
            raise ValueError("a Simplex takes no mask")
        # Dirichlet(1, …, 1) is independent exponentials over their sum.
        x = self.np_random.standard_exponential(self.shape)
        return (x / x.sum(-1, keepdims=True)).astype(np.float32)

    def contains(self, x: Any) -> bool:
        """Whether `x` is of the space's shape, float32, in [0, 1] and with sums within 1e-6 of 1."""
        if not super().contains(x):
            return False
        sums = np.asarray(x, dtype=np.float64).sum(-1)
        return bool((np.abs(sums - 1) <= SIMPLEX_TOLERANCE).all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Simplex) and self.shape == other.shape

    def __repr__(self) -> str:
        batch = f", batch_shape={self.batch_shape}" if self.batch_shape else ""
        return f"Simplex({self.num_actions}{batch})"


@batch_space.register(Simplex)
def _batch_simplex(space: Simplex, n: int = 1) -> Simplex:
    # As Gymnasium does for boxes: the batch draws from a generator of its own in the same state.
    return Simplex(space.num_actions, batch_shape=(n, *space.batch_shape), seed=deepcopy(space.np_random))
