"""The network of a trained policy, in NumPy: features in, policies out.

Two layers over the tokens pool over the actions by mean and maximum; what is pooled decides how much
weight the network's own proposal, the experts and uniform play get. The policy is that mixture.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from regret_envs.agents.universal.features import CONTEXT_FEATURES, EXPERTS, TOKEN_FEATURES, LossFeatures
from regret_envs.arrays import FloatArray

WIDTH = 32
NUM_CHOICES = len(EXPERTS) + 2  # the network's own proposal, the experts, uniform play

SHAPES: dict[str, tuple[int, ...]] = {
    "token_in": (WIDTH, len(TOKEN_FEATURES)),
    "context_in": (WIDTH, len(CONTEXT_FEATURES)),
    "bias_in": (WIDTH,),
    "token_mid": (WIDTH, WIDTH),
    "pooled_mid": (WIDTH, 2 * WIDTH),
    "context_mid": (WIDTH, len(CONTEXT_FEATURES)),
    "bias_mid": (WIDTH,),
    "pooled_gate": (WIDTH, 2 * WIDTH),
    "context_gate": (WIDTH, len(CONTEXT_FEATURES)),
    "bias_gate": (WIDTH,),
    "gate_out": (NUM_CHOICES, WIDTH),
    "bias_out": (NUM_CHOICES,),
    "logit_token": (WIDTH,),
    "logit_direct": (len(TOKEN_FEATURES),),
}
"""The parameters and their shapes."""

Parameters = Mapping[str, FloatArray]


class Network:
    """The network with some parameters. It keeps its buffers: to make large arrays costs a layer."""

    def __init__(self, parameters: Parameters) -> None:
        self._p = parameters
        # What the layers and the gate read of the context, in one product.
        self._context = np.concatenate([parameters[f"context_{part}"] for part in _PARTS])
        self._bias = np.concatenate([parameters[f"bias_{part}"] for part in _PARTS])[:, None]
        self._hidden = np.empty((2, 0, WIDTH, 0))

    def policies(self, features: LossFeatures) -> FloatArray:
        """The policies of the next round, shape (num_actions, num_runs), columns on the simplex."""
        p, d, runs = self._p, features.num_actions, features.context.shape[1]
        if self._hidden.shape != (2, d, WIDTH, runs):
            self._hidden = np.empty((2, d, WIDTH, runs))
        first, second = self._hidden
        tokens = features.tokens
        into, mid, gate = (self._context @ features.context + self._bias).reshape(3, WIDTH, runs)
        _layer(p["token_in"], tokens.swapaxes(0, 1), into, first)
        mid += p["pooled_mid"] @ _pooled(first)
        _layer(p["token_mid"], first, mid, second)
        gate += p["pooled_gate"] @ _pooled(second)
        weights = _softmax(p["gate_out"] @ np.maximum(gate, 0.0) + p["bias_out"][:, None])
        logits = (p["logit_direct"] @ tokens.reshape(len(tokens), d * runs)).reshape(d, runs)
        logits += p["logit_token"] @ second
        played = weights[0] * _softmax(logits)
        played += np.einsum("kr,kdr->dr", weights[1:-1], features.experts)
        played += weights[-1] / d
        played /= played.sum(0)
        return played


_PARTS = ("in", "mid", "gate")


def _layer(weights: FloatArray, tokens: FloatArray, shared: FloatArray, out: FloatArray) -> None:
    """relu(weights @ tokens + shared), for tokens of shape (num_actions, features, num_runs), to `out`."""
    np.matmul(weights, tokens, out=out)
    out += shared
    np.clip(out, 0.0, np.inf, out=out)  # faster than np.maximum


def _pooled(hidden: FloatArray) -> FloatArray:
    """Mean and maximum over the actions, shape (2 · WIDTH, num_runs)."""
    return np.concatenate([hidden.sum(0) / len(hidden), hidden.max(0)])


def _softmax(logits: FloatArray) -> FloatArray:
    logits = np.exp(logits - logits.max(0))
    logits /= logits.sum(0)
    return logits
