"""Checks of numeric arguments, with errors that name the argument."""

from __future__ import annotations

from numbers import Real

import numpy as np
import numpy.typing as npt


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


def positive(name: str, value: float) -> float:
    """Return `value` as a float, or say that it is not positive or not finite.

    Raises:
        TypeError: if `value` is not a number.
        ValueError: if it is not positive and finite.
    """
    if non_negative(name, value) == 0:
        raise ValueError(f"{name} must be positive, got {value!r}")
    return float(value)


def resolved(name: str, numbers: npt.NDArray[np.float64]) -> None:
    """See that differences between losses are not lost in their rounding: regret is made of differences.

    Raises:
        ValueError: if the numbers are too large beside their range for float64 to hold six digits of it.
    """
    if not numbers.size:
        return
    least, greatest = float(numbers.min()), float(numbers.max())
    if is_lost(greatest - least, numbers):
        raise ValueError(
            f"{name}: numbers from {least!r} to {greatest!r} differ too little for their size: regret would "
            f"be rounding. Subtract a common level such as {least!r} from all of them"
        )


def is_lost(spread: float, numbers: npt.NDArray[np.float64]) -> bool:
    """Whether float64 holds less than six digits of a spread beside numbers of that size."""
    return bool(0 < spread < np.spacing(np.abs(numbers).max()) / _RESOLUTION)


_RESOLUTION = 1e-6
