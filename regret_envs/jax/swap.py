"""Blum–Mansour as a rule: no swap regret from no external regret."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from regret_envs.jax.rule import Rule, State, several
from regret_envs.jax.rules import hedge
from regret_envs.jax.stationary import stationary_distribution


class CopiesState(NamedTuple):
    """`copies`: the states of the d copies, along an axis after those of one copy's state."""

    copies: State


def blum_mansour(copies: Rule | None = None) -> Rule:
    """Blum and Mansour's reduction over any rule; see `regret_envs.agents.BlumMansour`.

    Args:
        copies: the rule that is copied, `hedge()` by default. Its default step size is multiplied by d; an
            explicit step is used as given.

    Raises:
        TypeError: if `copies` is not a rule.
    """
    base = hedge() if copies is None else copies
    if not isinstance(base, Rule):
        raise TypeError(f"copies must be a rule such as hedge(0.1), got {base!r}")

    def init(num_actions: int, horizon: int | None) -> CopiesState:
        copy = base if base.as_copy is None else base.as_copy(several(num_actions))
        state = copy.init(num_actions, horizon)
        return CopiesState(
            jax.tree.map(lambda x: jnp.repeat(jnp.asarray(x)[..., None], num_actions, -1), state)
        )

    ranged = base.with_range

    def as_copy(num_copies: int) -> Rule:
        return blum_mansour(base if base.as_copy is None else base.as_copy(num_copies))

    policy, update = _reduction(base.policy, base.update, base.batched)
    return Rule(
        init,
        policy,
        update,
        f"blum_mansour({base.name})",
        base.takes,
        as_copy,
        prompt=base.reads_policy,
        batched=base.batched,
        with_range=None if ranged is None else lambda loss_range: blum_mansour(ranged(loss_range)),
    )


@lru_cache(maxsize=256)
def _reduction(
    policy: Callable[[State], Array], update: Callable[[State, Array, Array], State], batched: bool
) -> tuple[Callable[[Any], Array], Callable[[Any, Array, Array], CopiesState]]:
    """The two functions of the reduction, the same ones for the same two, so that they are compiled once."""
    proposals = policy if batched else jax.vmap(policy, -1, -1)
    update_copies = update if batched else jax.vmap(update, -1, -1)

    def reduced_policy(state: CopiesState) -> Array:
        return stationary_distribution(proposals(state.copies))

    def reduced_update(state: CopiesState, losses: Array, played: Array) -> CopiesState:
        shares = losses[:, None] * played[None]
        return CopiesState(update_copies(state.copies, shares, proposals(state.copies)))

    return reduced_policy, reduced_update
