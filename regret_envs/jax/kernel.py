"""The compiled kernel of `simulate`: rounds of many runs, and the sums that metrics are made of.

Arrays have the runs last, (num_actions, num_runs), and no such axis where there is one run: both are what XLA
makes fast loops of. Sums are kept over blocks of rounds and the blocks added with Kahan's compensation, so
float32 does not lose small losses in large sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from regret_envs.jax.rule import Rule, State, one_hot
from regret_envs.jax.worlds import expected_losses

Functions = tuple[Callable[[State], Array], Callable[[State, Array, Array], State]]
"""A rule's `policy` and `update`."""


class Layers(NamedTuple):
    """What lies between the world and one rule.

    Attributes:
        bandit: whether only the loss of a drawn action is seen.
        implicit_exploration, loss_offset: as in `regret_envs.feedback.Bandit`.
        delay: rounds by which losses come late.
    """

    bandit: bool = False
    implicit_exploration: float = 0.0
    loss_offset: float = 0.0
    delay: int = 0


class Spec(NamedTuple):
    """What is compiled, hashable.

    Attributes:
        rules: every player's `policy` and `update`, for one run or, where there are more, for all.
        layers: every player's.
        num_actions: every player's.
        draw: the stream's, or None in a game.
        block_rounds: rounds that are summed before they are added to the totals.
        one_run: whether the arrays have no axis of runs.
    """

    rules: tuple[Functions, ...]
    layers: tuple[Layers, ...]
    num_actions: tuple[int, ...]
    draw: Callable[..., tuple[Array, Any]] | None
    block_rounds: int
    one_run: bool


class Sums(NamedTuple):
    """One player's Σ π (ℓ, 1)ᵀ, shape (d, d + 1, runs): the play–loss matrix and, as its last column, Σ π.

    One array and not two, since XLA would compute the policy once for each. `realized` is the same with the
    drawn actions in place of the policies, or None.
    """

    play_loss: Array
    realized: Array | None = None


class Waiting(NamedTuple):
    """Losses and policies that a rule has not been shown yet: (delay, d, runs), round t at t mod delay."""

    losses: Array
    policies: Array


class Carry(NamedTuple):
    """Everything that changes from round to round.

    Attributes:
        t: rounds played.
        states: every rule's.
        sums, lost: every player's totals, and what rounding took from them.
        first_bad: the first round, counted from 0, with a policy off the simplex, int32 (runs,).
        waiting: every player's, or None.
        stream: the stream's state at the beginning of the block.
    """

    t: Array
    states: tuple[State, ...]
    sums: tuple[Sums, ...]
    lost: tuple[Sums, ...]
    first_bad: Array
    waiting: tuple[Waiting | None, ...]
    stream: Any


def functions(rule: Rule, one_run: bool) -> Functions:
    """A rule's two functions, for one run or for arrays with the runs last."""
    return (rule.policy, rule.update) if one_run or rule.batched else _mapped(rule.policy, rule.update)


@lru_cache(maxsize=256)
def _mapped(policy: Callable[[State], Array], update: Callable[[State, Array, Array], State]) -> Functions:
    # The same functions for the same two, so that they are compiled once.
    return jax.vmap(policy, -1, -1), jax.vmap(update, -1, -1)


NEVER = 2**31 - 1
SUMMED_ROUNDS, DRAWN_ROUNDS = 512, 64
"""Rounds in a block; where numbers are drawn, a block of them is held in memory."""


def begin(spec: Spec, states: Sequence[State], stream: Any, num_runs: int, dtype: Any) -> Carry:
    """Nothing played yet."""
    runs = () if spec.one_run else (num_runs,)
    sums, waiting = [], []
    for d, layer in zip(spec.num_actions, spec.layers, strict=True):
        zero = jnp.zeros((d, d + 1, *runs), dtype)
        sums.append(Sums(zero, zero if layer.bandit else None))
        queue = jnp.zeros((layer.delay, d, *runs), dtype)
        waiting.append(Waiting(queue, queue) if layer.delay else None)
    return Carry(
        t=jnp.int32(0),
        states=tuple(states),
        sums=tuple(sums),
        lost=tuple(sums),
        first_bad=jnp.full(runs, NEVER, jnp.int32),
        waiting=tuple(waiting),
        stream=stream,
    )


@partial(jax.jit, static_argnums=(0, 1))
def advance(spec: Spec, mesh: Mesh | None, data: Any, keys: Any, carry: Carry, stop: Array) -> Carry:
    """Play rounds t + 1 … stop.

    Args:
        spec: what is compiled.
        mesh: the devices that the runs lie on, or None.
        data: the game's losses as `expected_losses` takes them, with an action whose loss is 1 put at the end
            of every player's own; or what the stream's runs share.
        keys: the runs' keys of the stream and of every player's drawn actions, or None where nothing is
            drawn.
        carry: where play stands.
        stop: a round not yet passed.
    """
    play = partial(_advance, spec)
    if mesh is not None:
        per_run = spec.draw is None and data[0].ndim > len(spec.num_actions)
        game = jax.tree.map(runs_last if per_run else lambda x: PartitionSpec(), data)
        drawn, moving = jax.tree.map(runs_last, (keys, carry))
        where = (game, drawn, moving, PartitionSpec())
        play = jax.shard_map(play, mesh=mesh, in_specs=where, out_specs=moving, check_vma=False)
    return play(data, keys, carry, stop)


@partial(jax.jit, static_argnums=0)
def show(functions: Functions, state: State, losses: Array) -> State:
    """The states after a round that does not count; runs last."""
    policy, update = functions
    return update(state, losses, policy(state))


def runs_last(array: Array) -> PartitionSpec:
    """How an array with the runs last lies on the devices; a scalar lies on all."""
    return PartitionSpec(*(None,) * (array.ndim - 1), "runs") if array.ndim else PartitionSpec()


def _advance(spec: Spec, data: Any, keys: Any, carry: Carry, stop: Array) -> Carry:
    size = spec.block_rounds

    def block(carry: Carry) -> Carry:
        # Blocks begin at multiples of their size, so that what is drawn does not depend on the stops.
        first = carry.t % size
        count = jnp.minimum(size - first, stop - carry.t)
        dtype = carry.sums[0].play_loss.dtype
        drawn, after = _draw(spec, data, keys, carry.stream, carry.t - first, dtype)
        zero = jax.tree.map(jnp.zeros_like, carry.sums)
        now = (carry.states, zero, carry.first_bad, carry.waiting)
        one_round = partial(_round, spec, data, drawn, carry.t, first)
        states, sums, first_bad, waiting = jax.lax.fori_loop(0, count, one_round, now)
        totals, lost = _add(carry.sums, carry.lost, sums)
        over = first + count == size
        stream = jax.tree.map(lambda new, old: jnp.where(over, new, old), after, carry.stream)
        return Carry(carry.t + count, states, totals, lost, first_bad, waiting, stream)

    return jax.lax.while_loop(lambda carry: carry.t < stop, block, carry)


def _add(totals: Any, lost: Any, added: Any) -> tuple[Any, Any]:
    """Kahan's sum; the barrier keeps the compiler from simplifying it away."""
    flat, shape = jax.tree.flatten(totals)
    sums, losts = [], []
    for total, error, value in zip(flat, jax.tree.leaves(lost), jax.tree.leaves(added), strict=True):
        corrected = value - error
        new = jax.lax.optimization_barrier(total + corrected)
        sums.append(new)
        losts.append(jax.lax.optimization_barrier(new - total) - corrected)
    return jax.tree.unflatten(shape, sums), jax.tree.unflatten(shape, losts)


def _draw(spec: Spec, data: Any, keys: Any, stream: Any, t: Array, dtype: Any) -> tuple[Any, Any]:
    """A block's random numbers: the stream's losses, (rounds, d + 1, runs), the last 1, and uniforms."""
    stream_keys, action_keys = keys
    size = spec.block_rounds

    def over_runs(draw: Callable[..., Any], *args: Any) -> Any:
        return draw(*args) if spec.one_run else jax.vmap(draw, -1, -1)(*args)

    losses, after = None, stream
    if spec.draw is not None:
        draw, shape = spec.draw, (size, spec.num_actions[0])
        losses, after = over_runs(
            lambda key, state: draw(data, jax.random.fold_in(key, t), state, t, shape), stream_keys, stream
        )
        losses = jnp.concatenate([losses, jnp.ones_like(losses[:, :1])], 1)
    uniforms = [
        over_runs(lambda key: jax.random.uniform(jax.random.fold_in(key, t), (size,), dtype), key)
        if layer.bandit
        else None
        for key, layer in zip(action_keys, spec.layers, strict=True)
    ]
    return (losses, uniforms), after


def _round(spec: Spec, data: Any, drawn: Any, start: Array, first: Array, k: Array, now: Any) -> Any:
    """One round; `now` holds the states, the block's sums, the first bad rounds and what waits."""
    states, sums, first_bad, waiting = now
    stream_losses, uniforms = drawn
    t = start + k
    policies = [
        policy(state).astype(now_sums.play_loss.dtype)
        for (policy, _), state, now_sums in zip(spec.rules, states, sums, strict=True)
    ]
    actions = [
        None if uniform is None else sample(policy, uniform[first + k])
        for policy, uniform in zip(policies, uniforms, strict=True)
    ]
    played = [policy if action is None else action for policy, action in zip(policies, actions, strict=True)]
    if stream_losses is not None:
        losses = [stream_losses[first + k]] * len(policies)
    else:
        losses = expected_losses(data, played)
    new_states, new_sums, queues = [], [], []
    for n, (layer, (_, update)) in enumerate(zip(spec.layers, spec.rules, strict=True)):
        policy, action = policies[n], actions[n]
        shown = losses[n][:-1] if action is None else estimate(layer, policy, action, losses[n][:-1])
        state, queue = _show(layer, update, states[n], shown, policy, waiting[n], t)
        new_states.append(state)
        queues.append(queue)
        played_loss = policy[:, None] * losses[n]
        added = Sums(played_loss, None if action is None else action[:, None] * losses[n])
        new_sums.append(jax.tree.map(jnp.add, sums[n], added))
    good = reduce(jnp.logical_and, map(on_simplex, policies))
    first_bad = jnp.where(good | (first_bad < t), first_bad, t)
    return tuple(new_states), tuple(new_sums), first_bad, tuple(queues)


def _show(
    layer: Layers,
    update: Callable[[State, Array, Array], State],
    state: State,
    losses: Array,
    policy: Array,
    waiting: Waiting | None,
    t: Array,
) -> tuple[State, Waiting | None]:
    """The state after what arrives at the end of a round, and what waits."""
    if waiting is None:
        return update(state, losses, policy), None
    slot = t % layer.delay
    updated = update(state, waiting.losses[slot], waiting.policies[slot])
    state = jax.tree.map(lambda new, old: jnp.where(t >= layer.delay, new, old), updated, state)
    return state, Waiting(waiting.losses.at[slot].set(losses), waiting.policies.at[slot].set(policy))


def sample(policy: Array, uniform: Array) -> Array:
    """An action drawn from the policy, as a one-hot array of its shape."""
    cumulative = jnp.cumsum(policy, 0)
    # Against rounding: the last partial sum is what the uniform number is scaled to.
    drawn = (uniform * cumulative[-1] >= cumulative).sum(0)
    return one_hot(drawn, policy)


def estimate(layer: Layers, policy: Array, action: Array, losses: Array) -> Array:
    """The importance-weighted estimate of `regret_envs.feedback.Bandit`."""
    seen = losses - layer.loss_offset
    return jnp.where(action > 0, seen / (policy + layer.implicit_exploration), 0.0)


def tolerance(num_actions: int, dtype: Any) -> float:
    """How far a sum of probabilities may be from 1: 1e-6, and more where rounding alone is."""
    return max(1e-6, 8 * float(np.finfo(dtype).eps) * num_actions**0.5)


def on_simplex(policy: Array) -> Array:
    """Whether a policy is finite, not negative and sums to 1; shape (d, runs) to (runs,)."""
    return (jnp.abs(policy.sum(0) - 1) <= tolerance(len(policy), policy.dtype)) & (policy.min(0) >= -1e-12)
