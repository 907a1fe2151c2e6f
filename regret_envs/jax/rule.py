"""Rules: online-learning algorithms as pure functions of one run.

A `Rule` is to learning in games what an optimizer is in optax: `init` makes a state, `policy` reads the mixed
strategy off it, `update` takes a round's losses in. States are pytrees, so `jax.vmap` makes runs,
`jax.lax.scan` rounds and `jax.jit` one kernel. Each rule plays as the NumPy agent of its name
(`regret_envs.agents`), which documents it; default step sizes are asked of that agent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from regret_envs.agents.external.steps import SteppedAgent
from regret_envs.feedback import Bandit, Feedback, Takes, told_range
from regret_envs.jax.numbers import fits
from regret_envs.validation import at_least
from regret_envs.worlds import Bounds

State = Any
"""A pytree of arrays."""


class Rule(NamedTuple):
    """An online-learning algorithm for one run.

    Attributes:
        init: `init(num_actions, horizon) -> state`; the horizon is None where it is unknown.
        policy: `policy(state) -> π`, shape (num_actions,), on the simplex.
        update: `update(state, losses, π) -> state` after a round in which π was played; losses and π have
            shape (num_actions,). Under delay, π is what was played in the round of the losses.
        name: for errors.
        takes: the feedback it plays under, as `Agent.takes`.
        as_copy: `as_copy(n)` is the rule as one of n copies in a swap-regret reduction, which share the
            losses; None: the rule itself.
        reads_policy: whether `update` depends on π.
        prompt: whether `update` must come in the round of the policy, so that delay is refused.
        with_range: `with_range(ρ)` is the rule for losses in [0, ρ], of one that assumes [0, 1] unless it is
            told; None: it assumes no range, or was given one.
        batched: whether `policy` and `update` also take trailing axes of runs, in states and arrays alike, as
            the rules here do: XLA makes faster loops of it than of `jax.vmap`, which maps the others.

    `policy` and `update` are what `simulate` compiles: rules that share the two functions and differ in their
    states, such as `hedge(0.1)` and `hedge(0.2)`, share the compiled program.
    """

    init: Callable[[int, int | None], State]
    policy: Callable[[State], Array]
    update: Callable[[State, Array, Array], State]
    name: str = "rule"
    takes: Takes = "any"
    as_copy: Callable[[int], Rule] | None = None
    reads_policy: bool = True
    prompt: bool = False
    batched: bool = False
    with_range: Callable[[float], Rule] | None = None


def seated(rules: Rule | Sequence[Rule], num_players: int) -> list[Rule]:
    """One rule per seat.

    Raises:
        ValueError: if there is none.
        TypeError: if something is not a rule.
    """
    # A rule is a tuple too.
    found = [rules] * num_players if isinstance(rules, Rule) else list(rules)
    for player, rule in enumerate(found):
        if not isinstance(rule, Rule):
            raise TypeError(
                f"{rule!r} (player {player}) is not a rule such as hedge(0.1) or make('hedge'), "
                "of regret_envs.jax"
            )
    if not found:
        raise ValueError("rules must hold at least one rule, got none")
    return found


def told(rules: Sequence[Rule], feedback: Sequence[Feedback], bounds: Sequence[Bounds | None]) -> list[Rule]:
    """The rules, told the range of the losses at their seats, as `simulate` tells agents."""
    found = []
    for rule, bound in zip(rules, bounds, strict=True):
        ranges = [told_range(bound, layer.loss_offset) for layer in feedback if isinstance(layer, Bandit)]
        if rule.with_range is not None and ranges and ranges[0] is not None:
            rule = rule.with_range(ranges[0])
        found.append(rule)
    return found


StepSize = float | ArrayLike | Literal["anytime"] | None


class Step(NamedTuple):
    """A learning rate: `scale`, or scale / √t where the rounds seen, `t`, are counted."""

    scale: Array
    t: Array | None

    @property
    def size(self) -> Array:
        """η of the next round."""
        if self.t is None:
            return self.scale
        return self.scale / jnp.sqrt(jnp.maximum(self.t, 1).astype(self.scale.dtype))

    def next(self) -> Step:
        """After another round."""
        return self if self.t is None else Step(self.scale, self.t + 1)


def first_step(
    agent: Callable[[Any], SteppedAgent],
    step_size: StepSize,
    num_actions: int,
    horizon: int | None,
    num_copies: int,
) -> Step:
    """The learning rate that `agent(step_size)` begins with, as one of `num_copies` copies.

    A number is used as given, and may be traced.

    Raises:
        ValueError: if it is negative, not finite or another word, or lost in the floating-point type.
        TypeError: if it is not a number.
    """
    shrinks = False
    if step_size is None or isinstance(step_size, (str, int, float)):
        described = agent(step_size).as_copy(num_copies)
        step_size, shrinks = described.schedule(num_actions, horizon)
    scale = number("step_size", step_size)
    return Step(scale, jnp.int32(0) if shrinks else None)


def number(what: str, value: ArrayLike) -> Array:
    """A number as an array of the default type.

    Raises:
        ValueError: if it is lost in that type.
    """
    dtype = jnp.result_type(float)
    fits(what, value, dtype)
    return jnp.asarray(value, dtype)


def several(num_actions: int) -> int:
    """`num_actions`, checked.

    Raises:
        TypeError: if it is not an integer.
        ValueError: if there is nothing to choose.
    """
    if at_least("num_actions", num_actions, 1) == 1:
        raise ValueError("num_actions must be at least 2: with one action there is nothing to learn, got 1")
    return num_actions


def uniform_policy(num_actions: int) -> Array:
    """1/d everywhere, in the default type."""
    return jnp.full(several(num_actions), 1.0 / num_actions)


def one_hot(actions: Array, like: Array) -> Array:
    """1 at the action and 0 elsewhere, along a new first axis; as long and of the type of `like`."""
    index = jnp.arange(len(like)).reshape(-1, *(1,) * actions.ndim)
    return (index == actions).astype(like.dtype)


def softmax(logits: Array) -> Array:
    """exp(z) / Σ exp(z) along the first axis, overflow-safe."""
    weights = jnp.exp(logits - logits.max(0))
    return weights / weights.sum(0)
