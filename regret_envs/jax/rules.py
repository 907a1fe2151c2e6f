"""Rules that learn from all actions' losses and keep external regret small, and two that do not learn so."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from regret_envs.agents.changing.fixed_share import FixedShare
from regret_envs.agents.external.euclidean import OnlineGradientDescent
from regret_envs.agents.external.hedge import Hedge, OptimisticHedge
from regret_envs.jax.rule import (
    Rule,
    State,
    Step,
    StepSize,
    first_step,
    number,
    one_hot,
    several,
    softmax,
    uniform_policy,
)

# -- uniform play, follow the leader


def uniform() -> Rule:
    """The uniform policy in every round."""
    return Rule(
        lambda d, horizon: uniform_policy(d),
        _itself,
        _unchanged,
        "uniform()",
        reads_policy=False,
        batched=True,
    )


def _itself(state: Array) -> Array:
    return state


def _unchanged(state: State, losses: Array, policy: Array) -> State:
    return state


class LeaderState(NamedTuple):
    """`cumulative`: losses, (num_actions,); `policy`: the next."""

    cumulative: Array
    policy: Array


def follow_the_leader() -> Rule:
    """All on the action with the least loss so far; ties to the lowest index, the first policy uniform."""

    def init(num_actions: int, horizon: int | None) -> LeaderState:
        return LeaderState(jnp.zeros(num_actions), uniform_policy(num_actions))

    return Rule(init, _second, _follow, "follow_the_leader()", reads_policy=False, batched=True)


def _second(state: LeaderState) -> Array:
    return state.policy


def _follow(state: LeaderState, losses: Array, policy: Array) -> LeaderState:
    cumulative = state.cumulative + losses
    return LeaderState(cumulative, one_hot(cumulative.argmin(0), losses))


# -- Hedge


class HedgeState(NamedTuple):
    """`excess`: cumulative losses above the least, (num_actions,); `predicted`: the last losses, or None."""

    excess: Array
    step: Step
    predicted: Array | None = None


def hedge(step_size: StepSize = None) -> Rule:
    """Hedge (entropy-FTRL), π_{t+1} = softmax(−η Σ_{s≤t} ℓ_s); see `regret_envs.agents.Hedge`.

    Args:
        step_size: η. None: the agent's default; "anytime": ∝ 1/√t; a number, which may be traced.

    Raises:
        ValueError: when the rule begins, if the step is negative, not finite, another word, or lost in the
            floating-point type.
    """
    return _hedge(step_size, 1)


def _hedge(step_size: StepSize, num_copies: int) -> Rule:
    def init(num_actions: int, horizon: int | None) -> HedgeState:
        step = first_step(Hedge, step_size, several(num_actions), horizon, num_copies)
        return HedgeState(jnp.zeros(num_actions), step)

    return Rule(
        init,
        hedge_policy,
        hedge_update,
        f"hedge({_shown(step_size)})",
        as_copy=lambda n: _hedge(step_size, num_copies * n),
        reads_policy=False,
        batched=True,
    )


def optimistic_hedge(step_size: StepSize = None) -> Rule:
    """Optimistic Hedge, the last losses counted twice; see `regret_envs.agents.OptimisticHedge`.

    Args and errors: as in `hedge`.
    """
    return _optimistic_hedge(step_size, 1)


def _optimistic_hedge(step_size: StepSize, num_copies: int) -> Rule:
    def init(num_actions: int, horizon: int | None) -> HedgeState:
        step = first_step(OptimisticHedge, step_size, several(num_actions), horizon, num_copies)
        return HedgeState(jnp.zeros(num_actions), step, jnp.zeros(num_actions))

    return Rule(
        init,
        hedge_policy,
        hedge_update,
        f"optimistic_hedge({_shown(step_size)})",
        as_copy=lambda n: _optimistic_hedge(step_size, num_copies * n),
        reads_policy=False,
        batched=True,
    )


def _shown(step_size: StepSize) -> str:
    if step_size is None:
        return ""
    return repr(step_size) if isinstance(step_size, (int, float, str)) else "…"


def hedge_policy(state: HedgeState) -> Array:
    """softmax(−η (Σ ℓ + predicted ℓ))."""
    if state.predicted is not None:
        return softmax((state.excess + state.predicted) * -state.step.size)
    # The least excess is 0, so nothing overflows.
    weights = jnp.exp(state.excess * -state.step.size)
    return weights / weights.sum(0)


def hedge_update(state: HedgeState, losses: Array, policy: Array) -> HedgeState:
    """Add up the losses."""
    excess = state.excess + losses
    # Softmax does not see what is subtracted from all, and in 10⁷ rounds of float32 the sums stay small.
    excess = excess - excess.min(0)
    return HedgeState(excess, state.step.next(), None if state.predicted is None else losses)


class AdaHedgeState(NamedTuple):
    """`excess`: cumulative losses above the leader's, (num_actions,); `gap`: Δ, ()."""

    excess: Array
    gap: Array


def adahedge() -> Rule:
    """AdaHedge, whose step ln d / Δ follows from what it has lost; see `regret_envs.agents.AdaHedge`."""

    def init(num_actions: int, horizon: int | None) -> AdaHedgeState:
        return AdaHedgeState(jnp.zeros(several(num_actions)), jnp.zeros(()))

    return Rule(init, _adahedge_policy, _adahedge_update, "adahedge()", batched=True)


def _adahedge_weights(state: AdaHedgeState) -> Array:
    """exp(−η excess), at an infinite step 1 for the leaders and 0 for the others."""
    gap = jnp.where(state.gap > 0, state.gap, 1.0)
    finite = jnp.exp(-state.excess * (math.log(len(state.excess)) / gap))
    leaders = (state.excess <= 0).astype(finite.dtype)
    return jnp.where(state.gap > 0, finite, leaders)


def _adahedge_policy(state: AdaHedgeState) -> Array:
    weights = _adahedge_weights(state)
    return weights / weights.sum(0)


def _adahedge_update(state: AdaHedgeState, losses: Array, policy: Array) -> AdaHedgeState:
    added = losses - losses.min(0)
    raised = state.excess + added
    least = raised.min(0)
    after = AdaHedgeState(raised - least, state.gap)
    # The mix loss as a difference of potentials whose minima are taken out, so that nothing cancels.
    ratio = _adahedge_weights(after).sum(0) / _adahedge_weights(state).sum(0)
    mix = least - jnp.log(ratio) * state.gap / math.log(len(losses))
    return after._replace(gap=state.gap + jnp.maximum((policy * added).sum(0) - mix, 0.0))


# -- online gradient descent


def project_to_simplex(points: Array) -> Array:
    """The nearest point of the simplex in the Euclidean norm, shape (num_actions,): max(x − τ, 0).

    Of the thresholds (Σ_{x_i ≥ x_j} x_i − 1) / #{x_i ≥ x_j} that every entry j would give, τ is the largest.
    No sort, which a vectorized kernel would pay for.
    """
    points = points - points.max(0)
    above = points[:, None] >= points[None]
    totals = jnp.where(above, points[:, None], 0.0).sum(0)
    thresholds = (totals - 1.0) / above.sum(0)
    return jnp.maximum(points - thresholds.max(0), 0.0)


class GradientState(NamedTuple):
    """`policy`: the next, (num_actions,)."""

    policy: Array
    step: Step


def online_gradient_descent(step_size: StepSize = None) -> Rule:
    """π_{t+1} = Project(π_t − η_t ℓ_t); see `regret_envs.agents.OnlineGradientDescent`.

    Args and errors: as in `hedge`.
    """
    return _online_gradient_descent(step_size, 1)


def _online_gradient_descent(step_size: StepSize, num_copies: int) -> Rule:
    def init(num_actions: int, horizon: int | None) -> GradientState:
        policy = uniform_policy(num_actions)
        return GradientState(
            policy, first_step(OnlineGradientDescent, step_size, num_actions, horizon, num_copies)
        )

    return Rule(
        init,
        _gradient_policy,
        _gradient_update,
        f"online_gradient_descent({_shown(step_size)})",
        as_copy=lambda n: _online_gradient_descent(step_size, num_copies * n),
        reads_policy=False,
        batched=True,
    )


def _gradient_policy(state: GradientState) -> Array:
    return state.policy


def _gradient_update(state: GradientState, losses: Array, policy: Array) -> GradientState:
    return GradientState(project_to_simplex(state.policy - state.step.size * losses), state.step.next())


# -- Fixed-Share


class ShareState(NamedTuple):
    """`logits`: (num_actions,); α and η, or None where they change from round to round; `switches`: S."""

    logits: Array
    share: Array | None
    step_size: Array | None
    switches: Array
    t: Array


def fixed_share(num_switches: int = 5, *, step_size: float | None = None, share: float | None = None) -> Rule:
    """Fixed-Share, a round of Hedge and then a share α dealt out evenly; see `regret_envs.agents.FixedShare`.

    Args and errors: as there.
    """
    agent = FixedShare(num_switches, step_size=step_size, share=share)

    def init(num_actions: int, horizon: int | None) -> ShareState:
        known = (share, step_size) if horizon is None else agent.settings(num_actions, horizon)[:2]
        alpha, eta = (
            None if value is None else number(what, value)
            for what, value in zip(("share", "step_size"), known, strict=True)
        )
        logits = jnp.zeros(several(num_actions))
        return ShareState(logits, alpha, eta, jnp.asarray(float(num_switches)), jnp.int32(0))

    name = f"fixed_share({num_switches})"
    return Rule(init, _share_policy, _share_update, name, reads_policy=False, batched=True)


def _share_policy(state: ShareState) -> Array:
    return softmax(state.logits)


def _share_update(state: ShareState, losses: Array, policy: Array) -> ShareState:
    d = len(losses)
    t = state.t + 1
    rounds = t.astype(losses.dtype)
    share = state.switches / (state.switches + rounds) if state.share is None else state.share
    step = state.step_size
    if step is None:
        step = jnp.sqrt(2 * (state.switches + 1) * jnp.log(d * (rounds + 1)) / rounds)
    logits = state.logits - step * losses
    dealt = jnp.log((1 - share) * softmax(logits) + share / d)
    return state._replace(logits=jnp.where(share > 0, dealt, logits), t=t)
