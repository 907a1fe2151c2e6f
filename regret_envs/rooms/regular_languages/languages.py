"""Two regular languages over the alphabet {a, b}, chain of thought, and the logarithmic loss.

A token is 0 for a and 1 for b; a sequence is the last axis of an array. A label is +1 for a sequence
of the language and −1 for any other:

- *even pairs*: the pairs ab and ba occur an even number of times together, which is to say that the
  first token equals the last;
- *parity*: b occurs an even number of times.

Parity is even pairs asked again and again. With a = 0 and b = 1, the answer a to "are the first and
the last token equal?" and b otherwise is their exclusive or; drop the first token, append the answer,
and after L − 1 times the last token is the parity of the L tokens.

Huang, Liang and Yang, "How Transformers Learn Regular Language Recognition", 2025.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.validation import at_least

PADDING = 2
MAX_LENGTH = 16
MAX_LOG_LOSS = math.log(1e6)


def sequences(length: int) -> IntArray:
    """All sequences of a length in lexical order, shape (2^length, length).

    Raises:
        TypeError: if the length is not an integer.
        ValueError: if it is below 1 or above `MAX_LENGTH`, where there would be more than 65,536.
    """
    length = checked_length("length", length)
    return np.arange(2**length)[:, None] >> np.arange(length)[::-1] & 1


def checked_length(name: str, length: int, minimum: int = 1) -> int:
    """Return `length` as an int, or say that it lies outside `minimum` … `MAX_LENGTH`.

    Raises:
        TypeError: if it is not an integer.
        ValueError: if it is out of bounds.
    """
    if at_least(name, length, minimum) > MAX_LENGTH:
        raise ValueError(f"{name} must be at most {MAX_LENGTH}, got {length}")
    return int(length)


def even_pairs(tokens: IntArray) -> IntArray:
    """+1 where the first token equals the last, else −1.

    Args:
        tokens: shape (..., length).

    Returns:
        Shape (...).
    """
    return _label(tokens[..., 0] == tokens[..., -1])


def parity(tokens: IntArray) -> IntArray:
    """+1 where the number of b is even, else −1; shapes as in `even_pairs`."""
    return _label(tokens.sum(-1) % 2 == 0)


def think(tokens: IntArray, answers: npt.ArrayLike, *, truncate: bool = True) -> IntArray:
    """One step of chain of thought: append a where the answer is +1 and b where it is −1.

    Args:
        tokens: shape (..., length).
        answers: ±1, shape (...).
        truncate: drop the first token, so that the length stays.

    Returns:
        Shape (..., length), or (..., length + 1) if not truncated.
    """
    appended = (np.asarray(answers) < 0).astype(np.int64)[..., None]
    return np.concatenate([tokens[..., truncate:], appended], axis=-1)


def log_loss(probability: npt.ArrayLike, label: npt.ArrayLike) -> FloatArray:
    """−ln of the probability that was given to the label, at most `MAX_LOG_LOSS` = ln 10⁶ ≈ 13.8, in nats.

    The bound keeps the loss finite where the label was held to be impossible.

    Args:
        probability: that the label is +1, in [0, 1], any shape.
        label: ±1, of a shape that broadcasts.
    """
    p = np.asarray(probability, dtype=np.float64)
    given = np.where(np.asarray(label) > 0, p, 1 - p)
    # Adding 0 turns the −0 of a certain and right forecast into 0.
    return -np.log(np.maximum(given, math.exp(-MAX_LOG_LOSS))) + 0.0


def _label(in_language: npt.NDArray[np.bool_]) -> IntArray:
    return np.where(in_language, 1, -1)
