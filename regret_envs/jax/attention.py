"""Linear self-attention and swap attention as rules; `from_agent` reads trained models' parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from regret_envs.jax.rule import Rule, several, softmax
from regret_envs.jax.stationary import stationary_distribution


class Attention(NamedTuple):
    """The parameters, (V X + v_c)(a_0 + aᵀX) a round, the logits being `factor` times their sum.

    Linear attention: X is ℓ, `value` (d, d), `value_bias` (d,), `score` (d,). Swap attention: X is vec(π ℓᵀ),
    whose block j is π(j) ℓ, and every parameter has the heads in front: (d, d, d²), (d, d), (d, d²).
    `score_bias` and `factor` are numbers.
    """

    value: ArrayLike
    value_bias: ArrayLike
    score: ArrayLike
    score_bias: ArrayLike = 1.0
    factor: ArrayLike = 1.0


class AttentionState(NamedTuple):
    """`logits`: (d,), or (heads, d); the parameters, arrays, are part of it, so that they can be traced."""

    logits: Array
    parameters: Any


def linear_attention(parameters: Attention) -> Rule:
    """Single-layer linear self-attention with a softmax, π_{t+1} = softmax(Σ_{s≤t} (V ℓ_s + v_c)(a_0 +
    aᵀℓ_s)).

    At V = −kI and the rest 0, `linear_attention_point(k)`, it is Hedge with step k. See
    `regret_envs.agents.attention.linear.LinearAttention`.

    Raises:
        ValueError: when the rule begins, if the parameters are for another number of actions.
    """

    def init(num_actions: int, horizon: int | None) -> AttentionState:
        d = several(num_actions)
        return _begin(parameters, (d,), (d, d), (d,), (d,))

    return Rule(init, _linear_policy, _linear_update, "linear_attention()", reads_policy=False, batched=True)


def swap_attention(parameters: Attention) -> Rule:
    """Multi-head linear attention whose policy is the stationary distribution of what the heads propose.

    Where head j's V is −k times the identity on its own block, it is Blum–Mansour over Hedge with step k. See
    `regret_envs.agents.attention.swap.SwapAttention`.

    Raises:
        ValueError: when the rule begins, if the parameters are for another number of actions.
    """

    def init(num_actions: int, horizon: int | None) -> AttentionState:
        d = several(num_actions)
        return _begin(parameters, (d, d), (d, d, d * d), (d, d), (d, d * d))

    return Rule(init, _swap_policy, _swap_update, "swap_attention()", batched=True)


def linear_attention_point(step_size: ArrayLike, num_actions: int) -> Attention:
    """V = −kI, the rest 0: Hedge with step k."""
    zero = jnp.zeros(num_actions)
    return Attention(-jnp.asarray(step_size) * jnp.eye(num_actions), zero, zero)


def swap_attention_point(step_size: ArrayLike, num_actions: int) -> Attention:
    """V⁽ʲ⁾X = −k times block j, the rest 0: Blum–Mansour over Hedge with step k."""
    d = num_actions
    own = jnp.eye(d)[:, None, :, None] * jnp.eye(d)[None, :, None, :]
    value = -jnp.asarray(step_size) * own.reshape(d, d, d * d)
    return Attention(value, jnp.zeros((d, d)), jnp.zeros((d, d * d)))


def _begin(parameters: Attention, logits: tuple[int, ...], *shapes: tuple[int, ...]) -> AttentionState:
    arrays = [jnp.asarray(x, jnp.result_type(float)) for x in parameters]
    for name, array, shape in zip(Attention._fields, arrays, (*shapes, (), ()), strict=True):
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}: for {logits[-1]} actions it is {shape}")
    return AttentionState(jnp.zeros(logits), Attention(*arrays))


def _linear_policy(state: AttentionState) -> Array:
    return softmax(state.logits * state.parameters.factor)


def _linear_update(state: AttentionState, losses: Array, policy: Array) -> AttentionState:
    value, value_bias, score, score_bias, _ = state.parameters
    values = (value * losses[None]).sum(1) + value_bias
    return state._replace(logits=state.logits + values * (score_bias + (score * losses).sum(0)))


def _swap_policy(state: AttentionState) -> Array:
    # Column j is what head j proposes.
    return stationary_distribution(softmax(state.logits.swapaxes(0, 1) * state.parameters.factor))


def _swap_update(state: AttentionState, losses: Array, policy: Array) -> AttentionState:
    value, value_bias, score, score_bias, _ = state.parameters
    blocks = policy[:, None] * losses[None]
    inputs = blocks.reshape(-1, *blocks.shape[2:])
    values = (value * inputs[None, None]).sum(2) + value_bias
    scores = score_bias + (score * inputs[None]).sum(1)
    return state._replace(logits=state.logits + values * scores[:, None])
