"""Floating-point types, numbers that must fit them, and the error for what has no form here."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt


class NoFormError(ValueError):
    """A world, a layer of feedback or an agent that has no form in JAX; says what has."""


def float_type(dtype: npt.DTypeLike | None) -> np.dtype[Any]:
    """The type to compute in: float32 or float64; None: JAX's default, float32 unless x64 is enabled.

    Raises:
        ValueError: for float64 without x64, or another type.
    """
    if dtype is None:
        return np.dtype(jnp.result_type(float))
    try:
        asked = np.dtype(dtype)
    except TypeError:
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}") from None
    if asked not in (np.float32, np.float64):
        raise ValueError(f"dtype must be 'float32' or 'float64', got {asked}")
    if asked == np.float64 and jax.dtypes.canonicalize_dtype(np.float64) != np.float64:
        raise ValueError(
            'dtype="float64" needs JAX\'s 64-bit mode, which is off: call '
            'jax.config.update("jax_enable_x64", True) before anything else, or use dtype="float32"'
        )
    return asked


def known(value: Any) -> bool:
    """Whether a number's value is known, and not that of a transformation such as `jax.grad` or `jax.jit`."""
    return not isinstance(value, jax.core.Tracer)


def fits(what: str, value: Any, dtype: npt.DTypeLike) -> None:
    """Check that no number is lost in `dtype`: none overflows, and none but 0 becomes 0.

    Values under a transformation (`jax.grad`, `jax.jit`) are not known and pass.

    Raises:
        ValueError: if a number is lost; names it.
    """
    if not known(value):
        return
    numbers = np.abs(np.asarray(value, dtype=np.float64))
    numbers = numbers[np.isfinite(numbers)]
    info = np.finfo(np.dtype(dtype))
    # XLA flushes numbers below the smallest normal one to 0.
    for wrong, how in (
        (numbers > info.max, "overflows"),
        ((numbers > 0) & (numbers < info.tiny), "underflows"),
    ):
        if wrong.any():
            raise ValueError(f"{what} {how} {info.dtype}: {numbers[wrong].flat[0]:g}; use dtype='float64'")
