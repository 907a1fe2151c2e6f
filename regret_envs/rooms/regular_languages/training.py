"""Training the one-layer Transformer, and the max-margin direction that its head is said to turn to.

Letters as in `one_layer_transformer`; the paper's t_0 is `attention_steps`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.rooms.regular_languages.transformer import LabeledSequences, OneLayerTransformer
from regret_envs.validation import at_least, positive


@dataclass(frozen=True)
class Trajectory:
    """What gradient descent went through; index t is the state after t steps.

    Attributes:
        losses: shape (num_steps + 1,).
        all_right: whether every sequence had a positive margin, shape (num_steps + 1,).
        heads: u, shape (num_steps + 1, 2 max_length).
        models: copies of the model after the steps that were asked for.
    """

    losses: FloatArray
    all_right: npt.NDArray[np.bool_]
    heads: FloatArray
    models: dict[int, OneLayerTransformer]

    @property
    def first_step_right(self) -> int | None:
        """The first step from which on every sequence was right to the end, or None."""
        if not self.all_right[-1]:
            return None
        return len(self.all_right) - int(np.argmin(np.append(self.all_right[::-1], False)))


def train(
    model: OneLayerTransformer,
    data: LabeledSequences,
    *,
    num_steps: int,
    step_size: float = 0.1,
    attention_steps: int = 100,
    keep: Collection[int] = (),
) -> Trajectory:
    """Gradient descent on both layers at once; the model is changed in place.

    u moves with `step_size` = η, W with ηλ in the first `attention_steps` steps and with η after. The
    factor λ makes up for the temperature, which divides the gradient of W; `attention_steps` = 0 is
    plain gradient descent.

    Args:
        model: where to start.
        data: laid out for the model's `max_length`.
        num_steps: steps.
        step_size: η.
        attention_steps: t_0.
        keep: steps after which the model is copied into `Trajectory.models`; 0 is the start.

    Raises:
        TypeError: if a count is not an integer.
        ValueError: if the step size is not positive and finite, a count is negative, a step to keep lies
            outside 0 … `num_steps`, or the data are of another `max_length`.
        FloatingPointError: if the loss stops being finite; names the step.
    """
    at_least("num_steps", num_steps, 0)
    at_least("attention_steps", attention_steps, 0)
    positive("step_size", step_size)
    if outside := sorted(t for t in keep if not 0 <= t <= num_steps):
        raise ValueError(f"the steps to keep must lie in 0 … num_steps = {num_steps}, got {outside[0]}")
    losses = np.empty(num_steps + 1)
    all_right = np.empty(num_steps + 1, dtype=np.bool_)
    heads = np.empty((num_steps + 1, len(model.head)))
    models = {}
    # Asked about at every step, and keep may be any collection.
    keep = frozenset(keep)
    for t in range(num_steps + 1):
        margins, head_gradient, attention_gradient = model.gradient(data)
        losses[t] = data.weights @ np.logaddexp(0, -margins)
        if not math.isfinite(losses[t]):
            raise FloatingPointError(f"the loss is {losses[t]} after {t} steps: take a smaller step_size")
        all_right[t] = margins.min() > 0
        heads[t] = model.head
        if t in keep:
            models[t] = copy.deepcopy(model)
        if t < num_steps:
            head_gradient *= step_size
            attention_gradient *= step_size * (model.temperature if t < attention_steps else 1.0)
            model.head[:] -= head_gradient
            model.attention[:] -= attention_gradient
    return Trajectory(losses, all_right, heads, models)


def train_head(
    features: FloatArray,
    labels: IntArray,
    weights: FloatArray,
    head: FloatArray,
    *,
    num_steps: int,
    step_size: float,
) -> FloatArray:
    """Gradient descent on u alone, the attention frozen: logistic regression on the features.

    Args:
        features: z_n, shape (num_sequences, dim).
        labels: ±1, shape (num_sequences,).
        weights: c_n, shape (num_sequences,).
        head: where to start, shape (dim,).
        num_steps: steps.
        step_size: η.

    Returns:
        u after `num_steps` steps, shape (dim,).
    """
    signed = features * labels[:, None]
    scaled = (step_size * weights[:, None] * signed).T.copy()
    head = head.copy()
    for _ in range(num_steps):
        head += scaled @ np.exp(-np.logaddexp(0, signed @ head))
    return head


def max_margin(features: FloatArray, labels: IntArray) -> FloatArray:
    """The max-margin vector: argmin ‖u‖ subject to y_n u·z_n ≥ 1 for all n, without a bias.

    Solved exactly as a least-distance program, by non-negative least squares (Lawson and Hanson,
    "Solving Least Squares Problems", 1974, chapter 23): with r the residual of
    min_{x ≥ 0} ‖(Gᵀ; 1ᵀ) x − (0; 1)‖, G the rows y_n z_n, it is u = −r_{1…dim} / r_{dim+1}.

    Args:
        features: z_n, shape (num_sequences, dim).
        labels: ±1, shape (num_sequences,).

    Returns:
        Shape (dim,).

    Raises:
        ValueError: if no vector separates the features.
    """
    from scipy.optimize import nnls

    signed = features * labels[:, None]
    # Sequences that the head cannot tell apart are one constraint.
    constraints = np.unique(signed, axis=0)
    scale = np.abs(constraints).max()
    system = np.vstack([constraints.T / scale, np.ones(len(constraints))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    solution, distance = nnls(system, target, maxiter=100 * len(constraints))
    # The distance is 1 / sqrt(1 + ‖scale · u‖²), and 0 if there is no such u.
    if distance < 1e-9:
        raise ValueError("the features are not linearly separable: there is no max-margin vector")
    residual = system @ solution - target
    return -residual[:-1] / residual[-1] / scale
