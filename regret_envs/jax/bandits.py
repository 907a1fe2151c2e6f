"""Rules for bandit feedback; the estimates come from `regret_envs.feedback.Bandit` before them."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from regret_envs.agents import Exp3, TsallisINF
from regret_envs.jax.rule import Rule, StepSize, first_step, number, several
from regret_envs.jax.rules import HedgeState, hedge_policy, hedge_update


def exp3(step_size: StepSize = None, *, loss_range: float | None = None) -> Rule:
    """Exp3, Hedge on importance-weighted estimates; see `regret_envs.agents.Exp3`.

    Args and errors: as there; a step size may be traced.
    """
    return _exp3(step_size, loss_range, 1)


def _exp3(step_size: StepSize, loss_range: float | None, num_copies: int) -> Rule:
    agent = partial(Exp3, loss_range=loss_range)
    agent()

    def init(num_actions: int, horizon: int | None) -> HedgeState:
        step = first_step(agent, step_size, several(num_actions), horizon, num_copies)
        return HedgeState(jnp.zeros(num_actions), step)

    return Rule(
        init,
        hedge_policy,
        hedge_update,
        "exp3()",
        takes="bandit",
        reads_policy=False,
        as_copy=lambda n: _exp3(step_size, loss_range, num_copies * n),
        batched=True,
        with_range=None if loss_range is not None else lambda rho: _exp3(step_size, rho, num_copies),
    )


class TsallisState(NamedTuple):
    """`excess`: estimated cumulative losses above the least, (num_actions,); `loss_range`: ρ; `t`: rounds."""

    excess: Array
    loss_range: Array
    t: Array


def tsallis_inf(*, loss_range: float | None = None) -> Rule:
    """Tsallis-INF; see `regret_envs.agents.TsallisINF`. Args and errors: as there."""
    rho = TsallisINF(loss_range=loss_range).played_range

    def init(num_actions: int, horizon: int | None) -> TsallisState:
        return TsallisState(jnp.zeros(several(num_actions)), number("loss_range", rho), jnp.int32(0))

    return Rule(
        init,
        _tsallis_policy,
        _tsallis_update,
        "tsallis_inf()",
        "bandit",
        reads_policy=False,
        batched=True,
        with_range=None if loss_range is not None else lambda rho: tsallis_inf(loss_range=rho),
    )


def _tsallis_policy(state: TsallisState) -> Array:
    rounds = (state.t + 1).astype(state.excess.dtype)
    return half_tsallis(state.excess / (state.loss_range * jnp.sqrt(rounds)))


def _tsallis_update(state: TsallisState, losses: Array, policy: Array) -> TsallisState:
    excess = state.excess + losses
    return TsallisState(excess - excess.min(0), state.loss_range, state.t + 1)


def half_tsallis(losses: Array) -> Array:
    """argmin_π ⟨π, θ⟩ − 2 Σ_a √π(a) over the simplex, so π(a) = (θ(a) + λ)^−2; θ of shape (num_actions,).

    (Σ (θ + λ)^−2)^(−1/2) is concave and increasing in λ, so Newton's method from below rises to the root.
    """
    tolerance = 100 * np.finfo(losses.dtype).eps
    start = losses - losses.min(0) + 1.0

    def rise(excess: Array) -> Array:
        inverse = 1.0 / excess
        total = (inverse**2).sum(0)
        return (jnp.sqrt(total) - 1.0) * total / (inverse**3).sum(0)

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        excess, last, steps = carry
        return (last > tolerance * excess.min(0)).any() & (steps < _NEWTON_STEPS)

    def improve(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        excess, _, steps = carry
        step = rise(excess)
        return excess + step, step, steps + 1

    first = (start, jnp.full_like(start[0], jnp.inf), jnp.int32(0))
    excess = jax.lax.while_loop(unfinished, improve, first)[0]
    policy = excess**-2
    return policy / policy.sum(0)


_NEWTON_STEPS = 50
