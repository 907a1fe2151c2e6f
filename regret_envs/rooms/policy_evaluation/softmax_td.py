"""Weighted softmax TD, and the softmax Transformer whose layers are its steps (arXiv 2605.07333).

Weighted softmax TD goes over one trajectory S_0, R_1, S_1, …, S_n again and again, from v_0 = 0:

    δ_k = R_k + γ v_l(S_k) − v_l(S_{k−1})
    v_{l+1}(s) = v_l(s) + α Σ_k K(S_{k−1}, s) δ_k
    K(S_{k−1}, s) = exp g(s, S_{k−1}) / Σ_m exp g(s, S_{m−1}),

with g(s, s') = τ ⟨x(s), x(s')⟩. The Transformer does a step in every layer, on a prompt Z with a column a
state and the rows [x(S_j); R_{j+1}; target γ v(S_{j+1}); value v(S_j)]. Its parameters have few entries that
matter: the feature block of A in the logits ZᵀAZ, and what V writes into the value row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.names import lookup
from regret_envs.rooms.policy_evaluation.markov import Context, Trajectory, check_discount
from regret_envs.validation import at_least

_CHUNK = 50  # runs whose attention fits into the cache


@dataclass(frozen=True, eq=False)
class SoftmaxTransformer:
    """The parameters of a Transformer with shared layers, without the entries of A and V that are zero.

    Args:
        attention: A's feature block, shape (num_features, num_features). The logit with which the column of
            s reads that of s' is x(s')ᵀ A x(s).
        value_weights: what V's value row makes of the reward, target and value rows, shape (3,).
        num_layers: L.

    Raises:
        ValueError: for a wrong shape, something not finite, or fewer than 1 layer.
    """

    attention: FloatArray = field(repr=False)
    value_weights: FloatArray
    num_layers: int

    def __post_init__(self) -> None:
        attention = np.asarray(self.attention, dtype=np.float64)
        weights = np.asarray(self.value_weights, dtype=np.float64)
        if attention.ndim != 2 or attention.shape[0] != attention.shape[1]:
            raise ValueError(f"attention must be square, got shape {attention.shape}")
        if weights.shape != (3,):
            raise ValueError(
                f"value_weights must be three numbers, of the reward, target and value rows, got {weights}"
            )
        if not (np.isfinite(attention).all() and np.isfinite(weights).all()):
            raise ValueError("attention and value_weights must be finite")
        at_least("num_layers", self.num_layers, 1)
        object.__setattr__(self, "attention", attention)
        object.__setattr__(self, "value_weights", weights)

    @classmethod
    def construct(
        cls, num_features: int, *, num_layers: int, inverse_temperature: float = 6.0, step_size: float = 1.0
    ) -> SoftmaxTransformer:
        """The parameters that are weighted softmax TD: A = τ I and V = α (1, 1, −1).

        Args:
            num_features: d.
            num_layers: steps of softmax TD.
            inverse_temperature: τ.
            step_size: α.
        """
        weights = step_size * np.array([1.0, 1.0, -1.0])
        return cls(inverse_temperature * np.eye(num_features), weights, num_layers)

    @property
    def num_features(self) -> int:
        """d."""
        return len(self.attention)

    def layer_values(
        self, context: Context, *, discount: float, queries: FloatArray | None = None
    ) -> FloatArray:
        """The value row after every layer.

        A reads feature rows alone, so attention is the same in every layer and is computed once.

        Args:
            context: the trajectory.
            discount: γ.
            queries: features of further states to be valued, (num_runs, m, num_features): columns behind the
                trajectory's that attention does not read.

        Returns:
            v_0, …, v_L at S_0, …, S_n and the queries, shape (num_layers + 1, num_runs, n + 1 + m).

        Raises:
            ValueError: if γ is outside [0, 1), the features are not `num_features` numbers or the queries do
                not fit them.
        """
        check_discount(discount)
        features = context.features
        if queries is not None:
            if queries.ndim != 3 or queries.shape[::2] != features.shape[::2]:
                raise ValueError(
                    f"queries must have shape ({len(features)}, m, {features.shape[2]}), got {queries.shape}"
                )
            features = np.concatenate([features, queries], axis=1)
        if features.shape[2] != self.num_features:
            raise ValueError(
                f"the Transformer reads {self.num_features} features a state, got {features.shape[2]}"
            )
        n = context.rewards.shape[1]
        logits = features[:, :n] @ self.attention @ np.swapaxes(features, 1, 2)
        attention = _softmax(logits)
        reward, target, value = self.value_weights
        layers = np.zeros((self.num_layers + 1, len(features), 1, features.shape[1]))
        rewards = reward * context.rewards[:, None]
        for before, after in pairwise(layers):
            errors = rewards + target * discount * before[..., 1 : n + 1] + value * before[..., :n]
            np.add(before, errors @ attention, out=after)
        return layers[:, :, 0]

    def state_values(self, trajectory: Trajectory) -> FloatArray:
        """The values of all states after every layer, shape (num_layers + 1, num_runs, num_states)."""
        context, process = trajectory.context, trajectory.process
        layers = np.empty((self.num_layers + 1, *process.rewards.shape))
        for first in range(0, process.num_runs, _CHUNK):
            runs = slice(first, first + _CHUNK)
            layers[:, runs] = self.layer_values(
                Context(context.features[runs], context.rewards[runs]),
                discount=process.discount,
                queries=process.features[runs],
            )[..., -process.num_states :]
        return layers


def weighted_softmax_td(
    context: Context, *, discount: float, inverse_temperature: float, step_size: float, num_steps: int
) -> FloatArray:
    """Weighted softmax TD as one writes it down: a loop over runs, steps and states. Slow; a reference.

    Args:
        context: the trajectory.
        discount: γ.
        inverse_temperature: τ.
        step_size: α.
        num_steps: l.

    Returns:
        v_l(S_0), …, v_l(S_n), shape (num_runs, n + 1).

    Raises:
        ValueError: if γ is outside [0, 1).
    """
    check_discount(discount)
    values = np.zeros(context.features.shape[:2])
    for v, x, rewards in zip(values, context.features, context.rewards, strict=True):
        for _ in range(num_steps):
            errors = rewards + discount * v[1:] - v[:-1]
            for j in range(len(v)):
                g = np.array([inverse_temperature * np.dot(x[j], source) for source in x[:-1]])
                weights = np.exp(g - g.max())
                v[j] += step_size * np.dot(weights / weights.sum(), errors)
    return values


def prompt(context: Context) -> FloatArray:
    """Z_0: the rows [features; reward; target 0; value 0], shape (num_runs, num_features + 3, n + 1).

    Column j holds x(S_j) and R_{j+1}; the last column, the query's, has reward 0.
    """
    num_runs, num_columns, d = context.features.shape
    z = np.zeros((num_runs, d + 3, num_columns))
    z[:, :d] = np.swapaxes(context.features, 1, 2)
    z[:, d, :-1] = context.rewards
    return z


Form = Literal["shift", "two-head"]
Attention = Literal["softmax", "identity"]


def prompt_layers(
    transformer: SoftmaxTransformer,
    z: FloatArray,
    *,
    discount: float,
    form: Form = "shift",
    attention: Attention = "softmax",
) -> FloatArray:
    """The Transformer on the whole prompt, with A and V written out and attention computed in every layer.

    A layer adds `V Z softmax(ZᵀAZ + M)`, the softmax over sources for each column, where M masks the last
    column, the query's own, as a source. The target row then follows in one of two equivalent ways:

    - "shift": it is set to γ times the value row shifted by one column, 0 in the last;
    - "two-head": a second head adds `γ V' Z softmax(ZᵀAZ + M) P`, where V' writes what V writes, but into the
      target row, and P moves every column one to the left: column j reads with the query of column j + 1.

    Args:
        transformer: the parameters.
        z: prompts, shape (num_runs, num_features + 3, n + 1).
        discount: γ.
        form: how the target row is kept.
        attention: "softmax", or "identity": the masked logits themselves, as in linear attention.

    Returns:
        The prompt after the last layer, of the same shape; v(S_j) is at [-1, j].

    Raises:
        UnknownNameError: for another form or attention.
        ValueError: if γ is outside [0, 1) or z has not num_features + 3 rows.
    """
    check_discount(discount)
    lookup("form", form, dict.fromkeys(("shift", "two-head")))
    lookup("attention", attention, dict.fromkeys(("softmax", "identity")))
    d = transformer.num_features
    if z.ndim != 3 or z.shape[1] != d + 3:
        raise ValueError(f"prompts must have shape (num_runs, {d + 3}, n + 1), got {z.shape}")
    a, v, v_target = np.zeros((3, d + 3, d + 3))
    a[:d, :d] = transformer.attention
    v[-1, d:] = v_target[-2, d:] = transformer.value_weights
    mask = np.zeros((z.shape[2], 1))
    mask[-1] = -np.inf
    for _ in range(transformer.num_layers):
        logits = np.swapaxes(z, 1, 2) @ a @ z
        weights = _softmax(logits + mask) if attention == "softmax" else np.where(mask < 0, 0.0, logits)
        step = v @ z @ weights
        if form == "two-head":
            weights = np.concatenate([weights[..., 1:], np.zeros_like(weights[..., :1])], axis=2)
            step = step + discount * v_target @ z @ weights
        z = z + step
        if form == "shift":
            z[:, -2, :-1] = discount * z[:, -1, 1:]
    return z


def _softmax(logits: FloatArray) -> FloatArray:
    """Over the sources, axis 1; overwrites and returns `logits`."""
    logits -= logits.max(1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(1, keepdims=True)
    return logits
