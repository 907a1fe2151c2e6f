"""Spaces of the functional environments, with the names that gymnax and JaxMARL give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


@dataclass(frozen=True)
class Discrete:
    """The integers 0 … n − 1.

    Args:
        n: how many.
        dtype: of a sample.
    """

    n: int
    dtype: Any = jnp.int32

    @property
    def shape(self) -> tuple[int, ...]:
        """A scalar's."""
        return ()

    def sample(self, key: Array) -> Array:
        """A uniformly random integer."""
        return jax.random.randint(key, (), 0, self.n, self.dtype)

    def contains(self, x: Array) -> Array:
        """Whether `x` is one of the integers."""
        return (x >= 0) & (x < self.n)


@dataclass(frozen=True, eq=False)
class Box:
    """Vectors between two bounds.

    Args:
        low, high: the bounds, numbers or arrays of the shape.
        shape: of a vector.
        dtype: likewise.
    """

    low: Any
    high: Any
    shape: tuple[int, ...]
    dtype: Any = jnp.float32

    def sample(self, key: Array) -> Array:
        """A uniformly random vector; unbounded sides are cut at ±1e6."""
        low, high = np.clip(self.low, -1e6, 1e6), np.clip(self.high, -1e6, 1e6)
        return jax.random.uniform(key, self.shape, self.dtype, low, high)

    def contains(self, x: Array) -> Array:
        """Whether `x` lies between the bounds."""
        return ((x >= self.low) & (x <= self.high)).all()
