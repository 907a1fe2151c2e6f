"""The probability simplex: softmax, the Euclidean projection, and the check of policies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray

SIMPLEX_TOLERANCE = 1e-6


_NEGATIVE_TOLERANCE = 1e-12


def off_simplex(policies: FloatArray, axis: int = -1) -> npt.NDArray[np.bool_]:
    """Which policies are not on the simplex: not finite, negative, or not summing to 1 within 1e-6.

    Args:
        policies: actions along `axis`. Entries above −1e-12 count as not negative.

    Returns:
        A boolean array of the shape of `policies` without `axis`.
    """
    # A comparison with NaN is False, so the negated form catches NaN and infinities.
    on_simplex = np.abs(policies.sum(axis) - 1.0) <= SIMPLEX_TOLERANCE
    on_simplex &= policies.min(axis) >= -_NEGATIVE_TOLERANCE
    return ~on_simplex


def all_on_simplex(policies: FloatArray, axis: int = -1) -> bool:
    """Whether no policy is off the simplex, as `off_simplex` tells them, in a third of its time."""
    if not policies.min(initial=0.0) >= -_NEGATIVE_TOLERANCE:
        return False
    error = np.add.reduce(policies, axis=axis)
    error -= 1.0
    return bool(np.abs(error, out=error).max(initial=0.0) <= SIMPLEX_TOLERANCE)


def project_to_simplex(points: FloatArray) -> FloatArray:
    """The nearest point of the simplex in the Euclidean norm, exactly: max(x − τ, 0) with the τ that fits.

    By sorting (Held, Wolfe and Crowder, "Validation of Subgradient Optimization", 1974).

    Args:
        points: shape (num_actions, ...), not changed.

    Returns:
        The same shape, summing to 1 along the first axis.
    """
    # Adding a constant changes nothing; with the maximum at 0 no digits are lost to large entries.
    points = points - points.max(axis=0)
    descending = -np.sort(-points, axis=0)
    ranks = np.arange(1, len(points) + 1).reshape(-1, *(1,) * (points.ndim - 1))
    thresholds = (np.cumsum(descending, axis=0) - 1.0) / ranks
    last = (descending > thresholds).sum(axis=0, keepdims=True) - 1
    return np.maximum(points - np.take_along_axis(thresholds, last, axis=0), 0.0)


def softmax(logits: FloatArray) -> FloatArray:
    """exp(z) / Σ exp(z) along the first axis, overflow-safe; overwrites and returns `logits`."""
    logits -= np.maximum.reduce(logits, axis=0)
    np.exp(logits, out=logits)
    logits /= np.add.reduce(logits, axis=0)
    return logits
