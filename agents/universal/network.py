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


def policies(parameters: Parameters, features: LossFeatures) -> FloatArray:
    """The policies of the next round, shape (num_actions, num_runs), columns on the simplex."""
    p, context = parameters, features.context
    d, runs = features.num_actions, context.shape[1]
    flat = features.tokens.reshape(len(TOKEN_FEATURES), d * runs)
    hidden = _layer(p["token_in"] @ flat, p["context_in"] @ context + p["bias_in"][:, None], d)
    shared = p["pooled_mid"] @ _pooled(hidden) + p["context_mid"] @ context + p["bias_mid"][:, None]
    hidden = _layer(p["token_mid"] @ hidden.reshape(WIDTH, d * runs), shared, d)
    gate = p["pooled_gate"] @ _pooled(hidden) + p["context_gate"] @ context + p["bias_gate"][:, None]
    gate = p["gate_out"] @ np.maximum(gate, 0.0) + p["bias_out"][:, None]
    gate = _softmax(gate)
    logits = (p["logit_token"] @ hidden.reshape(WIDTH, d * runs) + p["logit_direct"] @ flat).reshape(d, runs)
    played = gate[0] * _softmax(logits)
    played += np.einsum("kr,kdr->dr", gate[1:-1], features.experts)
    played += gate[-1] / d
    played /= played.sum(0)
    return played


def _layer(tokens: FloatArray, shared: FloatArray, d: int) -> FloatArray:
    """relu(tokens + shared), shape (WIDTH, num_actions, num_runs)."""
    hidden = tokens.reshape(WIDTH, d, -1) + shared[:, None]
    return np.maximum(hidden, 0.0, out=hidden)


def _pooled(hidden: FloatArray) -> FloatArray:
    """Mean and maximum over the actions."""
    return np.concatenate([hidden.mean(1), hidden.max(1)])


def _softmax(logits: FloatArray) -> FloatArray:
    logits = np.exp(logits - logits.max(0))
    logits /= logits.sum(0)
    return logits
