"""Checks of numeric arguments, with errors that name the argument."""

from __future__ import annotations

from numbers import Real

import numpy as np


def at_least(name: str, value: int, minimum: int) -> int:
    """Return `value` as an int, or say that it is below `minimum`.

    Raises:
        TypeError: if `value` is not an integer.
        ValueError: if it is below `minimum`.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def non_negative(name: str, value: float) -> float:
    """Return `value` as a float, or say that it is negative or not finite.

    Raises:
        TypeError: if `value` is not a number.
        ValueError: if it is negative or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not np.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")
    return float(value)
