"""Regret matching and its relatives, as rules."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from regret_envs.jax.rule import Rule, several
from regret_envs.jax.stationary import stationary_distribution


class MatchingState(NamedTuple):
    """`regrets`: (num_actions,); `predicted`: the last round's, or None."""

    regrets: Array
    predicted: Array | None = None


def regret_matching() -> Rule:
    """Regret matching, π_{t+1} ∝ max(Σ_{s≤t} r_s, 0) with r_s(a) = ⟨ℓ_s, π_s⟩ − ℓ_s(a).

    See `regret_envs.agents.RegretMatching`.
    """
    return Rule(_begin, _policy, _matching_update, "regret_matching()", batched=True)


def regret_matching_plus() -> Rule:
    """Regret matching with sums floored at 0 in every round; see `regret_envs.agents.RegretMatchingPlus`."""
    return Rule(_begin, _policy, _plus_update, "regret_matching_plus()", batched=True)


def predictive_regret_matching_plus() -> Rule:
    """RM+ with the last round's regrets counted twice.

    See `regret_envs.agents.PredictiveRegretMatchingPlus`.
    """

    def init(num_actions: int, horizon: int | None) -> MatchingState:
        return MatchingState(jnp.zeros(several(num_actions)), jnp.zeros(num_actions))

    return Rule(init, _policy, _plus_update, "predictive_regret_matching_plus()", batched=True)


def internal_regret_matching() -> Rule:
    """Hart and Mas-Colell's internal regret matching; see `regret_envs.agents.InternalRegretMatching`."""

    def init(num_actions: int, horizon: int | None) -> MatchingState:
        # Entry [j, i]: the regret for having played i and not j.
        return MatchingState(jnp.zeros((several(num_actions), num_actions)))

    return Rule(init, _internal_policy, _internal_update, "internal_regret_matching()", batched=True)


def _begin(num_actions: int, horizon: int | None) -> MatchingState:
    return MatchingState(jnp.zeros(several(num_actions)))


def _policy(state: MatchingState) -> Array:
    regrets = state.regrets if state.predicted is None else state.regrets + state.predicted
    positive = jnp.maximum(regrets, 0.0)
    total = positive.sum(0)
    return jnp.where(total > 0, positive / jnp.where(total > 0, total, 1.0), 1.0 / len(regrets))


def _round_regrets(losses: Array, policy: Array) -> Array:
    return (policy * losses).sum(0) - losses


def _matching_update(state: MatchingState, losses: Array, policy: Array) -> MatchingState:
    return MatchingState(state.regrets + _round_regrets(losses, policy))


def _plus_update(state: MatchingState, losses: Array, policy: Array) -> MatchingState:
    regrets = _round_regrets(losses, policy)
    after = jnp.maximum(state.regrets + regrets, 0.0)
    return MatchingState(after, None if state.predicted is None else regrets)


def _internal_policy(state: MatchingState) -> Array:
    rates = jnp.maximum(state.regrets, 0.0)
    # Only ratios matter, and the elimination is made for rates of the order of probabilities.
    return stationary_distribution(rates / jnp.maximum(rates.max((0, 1)), np.finfo(rates.dtype).tiny))


def _internal_update(state: MatchingState, losses: Array, policy: Array) -> MatchingState:
    return MatchingState(state.regrets + policy * (losses - losses[:, None]))
