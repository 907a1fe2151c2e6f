"""Play that can be differentiated through: whole rollouts as pure functions of their parameters.

`simulate` keeps sums alone; here every round is kept, as reverse-mode differentiation has to anyway, and
anything in the world or the rules may be traced: `jax.grad(lambda k: regret(gaussian(3), hedge(k),
...).mean())`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from regret_envs import metrics
from regret_envs.games import RandomGames
from regret_envs.jax.numbers import known
from regret_envs.jax.rule import Rule, seated
from regret_envs.jax.worlds import (
    Stream,
    as_stream,
    as_world,
    check_rounds,
    expected_losses,
    own_actions_first,
)
from regret_envs.names import lookup
from regret_envs.validation import at_least
from regret_envs.worlds import World


class Rollout(NamedTuple):
    """What one run came to.

    Attributes:
        policies: one array (horizon, d) per player.
        losses: likewise.
    """

    policies: tuple[Array, ...]
    losses: tuple[Array, ...]


def rollout(
    world: World | Stream,
    rules: Rule | Sequence[Rule],
    *,
    horizon: int,
    key: Array,
    starting_loss_scale: ArrayLike = 0.0,
) -> Rollout:
    """One run, round by round; `jax.vmap` over keys makes more.

    Args:
        world: a normal-form game or a stream, as in `simulate`.
        rules: one per seat, or one for all.
        horizon: rounds, T, told to the rules.
        key: of a stream's losses and of the starting losses.
        starting_loss_scale: s; every rule is shown losses drawn from N(0, s² I) before round 1.

    Raises:
        ValueError: as `simulate`.
        TypeError: if the key is not a key, or something is not a world or a rule.
    """
    at_least("horizon", horizon, 1)
    played = as_world(world)
    if isinstance(played, RandomGames):
        raise ValueError(f"{world!r} draws a game for every run, outside JAX: play the games one by one")
    rules = seated(rules, 1 if isinstance(played, Stream) else played.num_players)
    stream_key, *first_keys = jax.random.split(checked_key(key), 1 + len(rules))
    if isinstance(played, Stream):
        num_actions = (played.num_actions,) * len(rules)
        given = stream_losses(played, horizon, stream_key)
    else:
        num_actions, given = played.seats(len(rules)), None
        table = [jnp.asarray(array, float) for array in own_actions_first(played.losses)]
    states = []
    for rule, d, first_key in zip(rules, num_actions, first_keys, strict=True):
        state = rule.init(d, horizon)
        if not known(starting_loss_scale) or starting_loss_scale:
            losses = jnp.asarray(starting_loss_scale, float) * jax.random.normal(first_key, (d,))
            state = rule.update(state, losses, rule.policy(state))
        states.append(state)

    def one_round(states: list[Any], losses: Array | None) -> tuple[list[Any], Rollout]:
        policies = tuple(rule.policy(state) for rule, state in zip(rules, states, strict=True))
        met = tuple(expected_losses(table, policies)) if losses is None else (losses,) * len(rules)
        states = [
            rule.update(state, loss, policy)
            for rule, state, loss, policy in zip(rules, states, met, policies, strict=True)
        ]
        return states, Rollout(policies, met)

    return jax.lax.scan(one_round, states, given, length=horizon)[1]


def stream_losses(stream: World | Stream, horizon: int, key: Array) -> Array:
    """One run's losses, shape (horizon, num_actions).

    Raises:
        ValueError: if it cannot last that long, or has no form here.
        TypeError: if the key is not a key, or the stream not a stream.
    """
    stream = as_stream(stream)
    check_rounds(stream, horizon)
    begin_key, draw_key = jax.random.split(checked_key(key))
    state = stream.begin(stream.data, begin_key, stream.num_actions)
    shape = (at_least("horizon", horizon, 1), stream.num_actions)
    return stream.draw(stream.data, draw_key, state, jnp.int32(0), shape)[0]


def replay(rule: Rule, losses: ArrayLike, *, horizon: int | None = None) -> Array:
    """A rule's policies where it is shown given losses.

    Args:
        rule: the rule.
        losses: shape (rounds, num_actions).
        horizon: what the rule is told; None: unknown.

    Returns:
        Shape (rounds, num_actions): the policy of a round depends on the losses of the rounds before it.
    """

    def one_round(state: Any, loss: Array) -> tuple[Any, Array]:
        policy = rule.policy(state)
        return rule.update(state, loss, policy), policy

    shown = jnp.asarray(losses, float)
    return jax.lax.scan(one_round, rule.init(shown.shape[1], horizon), shown)[1]


def regret(
    world: World | Stream,
    rules: Rule | Sequence[Rule],
    *,
    horizon: int,
    num_runs: int = 1,
    key: Array,
    starting_loss_scale: ArrayLike = 0.0,
    kind: str = "external",
) -> Array:
    """Regret, differentiable in whatever is traced.

    Args:
        kind: "external", "swap" or "internal".
        Others: as in `rollout`; every run has a key of its own, split from `key`.

    Returns:
        Shape (num_runs,) for one rule that faces a stream, else (num_players, num_runs), in units of loss.

    Raises:
        UnknownNameError: for another kind.
        Other errors: as `rollout`.
    """
    # The formulas use nothing but methods that JAX's arrays have too.
    measure: Callable[[Any], Any] = lookup("regret", kind, metrics.REGRETS)

    def one_run(key: Array) -> list[Array]:
        run = rollout(world, rules, horizon=horizon, key=key, starting_loss_scale=starting_loss_scale)
        return [
            measure(jnp.einsum("ti,tj->ij", policies, losses))
            for policies, losses in zip(run.policies, run.losses, strict=True)
        ]

    regrets = jax.vmap(one_run)(jax.random.split(checked_key(key), at_least("num_runs", num_runs, 1)))
    alone = isinstance(rules, Rule) and len(regrets) == 1
    return regrets[0] if alone else jnp.stack(regrets)


def checked_key(key: Any, *, several: bool = False) -> Array:
    """The key, or an error that says what one is.

    Args:
        key: one key, or a vector of keys if there are `several`.

    Raises:
        TypeError: if it is something else.
    """
    if isinstance(key, jax.Array):
        typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        if (typed and key.ndim == int(several)) or (key.dtype == jnp.uint32 and key.shape == (2,)):
            return key
    what = f"an array of {key.dtype} of shape {key.shape}" if isinstance(key, jax.Array) else repr(key)
    kind = "a vector of keys, as jax.random.split makes" if several else "one key, as jax.random.key(0) makes"
    raise TypeError(f"key must be {kind}, got {what}")
