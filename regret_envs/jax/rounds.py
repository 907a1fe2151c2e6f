"""The rounds of the functional environments, pure; they are those of `regret_envs.envs.rounds`.

Shapes are those of one environment. Everything but `reset` also takes a trailing axis of environments, in
states, actions and keys alike: XLA makes faster loops of it than of the leading axis of `jax.vmap`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from regret_envs.envs.actions import ActionError, ActionMap, ActionMode
from regret_envs.envs.observations import observation_space
from regret_envs.envs.rounds import FeedbackMode, loss_bound
from regret_envs.feedback import Bandit, unfit
from regret_envs.games import NormalFormGame, RandomGames
from regret_envs.jax import kernel
from regret_envs.jax.numbers import known
from regret_envs.jax.rule import Rule, State, one_hot, softmax, told, uniform_policy
from regret_envs.jax.rules import project_to_simplex
from regret_envs.jax.spaces import Box, Discrete
from regret_envs.jax.worlds import Stream, as_world, expected_losses, own_actions_first
from regret_envs.names import lookup
from regret_envs.worlds import World


class Outcome(NamedTuple):
    """What a player did and met in a round.

    Attributes:
        policy, losses: π_t and ℓ_t, (d,); in pure play ℓ_t is against the others' drawn actions.
        reward: −⟨ℓ_t, π_t⟩, or in pure play −ℓ_t(a_t).
        expected_loss: the loss that was to be expected of all seats' policies.
        action: in pure play the drawn action, else None.
    """

    policy: Array
    losses: Array
    reward: Array
    expected_loss: Array
    action: Array | None

    def info(self) -> dict[str, Array]:
        """The round as numbers, with the keys of `regret_envs.envs.rounds.Seat.info`."""
        info = {"policy": self.policy, "losses": self.losses, "expected_loss": self.expected_loss}
        if self.action is not None:
            info |= {"realized_action": self.action, "realized_loss": -self.reward}
        return info


class Memory(NamedTuple):
    """What a player's observation is made of.

    Attributes:
        policy, shown: the last policy and the losses shown last, (d,).
        totals: the sums of the losses shown.
        counts: under bandit feedback how often each was shown; None: in every round.
    """

    policy: Array
    shown: Array
    totals: Array
    counts: Array | None


class RoundsState(NamedTuple):
    """An episode.

    Attributes:
        t: rounds played.
        memories: every player's, by seat.
        opponents: the states of the rules at their seats, by seat.
        stream: the stream's state.
    """

    t: Array
    memories: dict[int, Memory]
    opponents: dict[int, State]
    stream: Any


class Rounds:
    """A world and its seats; arguments and play as in `regret_envs.envs.rounds.Rounds`, with rules for
    opponents.

    Raises:
        UnknownNameError: for an unknown action mode or feedback; lists the near ones.
        ValueError: if a scale is out of range, a rule does not play under such feedback, no seat is left to
            play, or the world has no form here.
        TypeError: if an opponent is not a rule.
    """

    def __init__(
        self,
        world: World | Stream,
        *,
        horizon: int,
        action_mode: ActionMode,
        logit_scale: float,
        feedback: FeedbackMode,
        opponents: Mapping[int, Rule],
    ) -> None:
        self.world = as_world(world)
        if isinstance(self.world, RandomGames):
            raise ValueError(f"{world!r} draws a game for every run, outside JAX: give one of its games")
        if isinstance(self.world, NormalFormGame):
            self.num_actions = self.world.num_actions
            bound = loss_bound(self.world)
            self._table = own_actions_first(self.world.losses)
        else:
            self.num_actions, bound = (self.world.num_actions,), np.inf
        self.horizon = horizon
        lookup("feedback", feedback, dict.fromkeys(("full", "bandit")))
        self._bandit = feedback == "bandit"
        bounds = [
            world.loss_bounds(n) if isinstance(world, World) else None for n in range(len(self.num_actions))
        ]
        self._offsets = [Bandit().offset(b) for b in bounds]
        self._pure = self._bandit or action_mode == "discrete"
        self._mode, self._scale = action_mode, logit_scale
        self.opponents = dict(opponents)
        for seat, rule in self.opponents.items():
            if not isinstance(rule, Rule):
                raise TypeError(f"opponents are rules such as hedge(0.1), got {rule!r} (player {seat})")
            if reason := unfit(rule, [Bandit()] if self._bandit else []):
                raise ValueError(f"opponent {rule.name} (player {seat}) {reason}")
        if self._bandit:
            seats = list(self.opponents)
            rules = told([self.opponents[n] for n in seats], [Bandit()], [bounds[n] for n in seats])
            self.opponents = dict(zip(seats, rules, strict=True))
        self.players = [n for n in range(len(self.num_actions)) if n not in self.opponents]
        if not self.players:
            raise ValueError("every seat is taken by an opponent: leave at least one for the environment")
        self.action_spaces = {n: self._action_space(self.num_actions[n]) for n in self.players}
        self.observation_spaces = {n: _observation_space(self.num_actions[n], bound) for n in self.players}

    def _action_space(self, num_actions: int) -> Box | Discrete:
        # The NumPy environment's own check of the mode, and its space.
        space: Any = ActionMap(num_actions, self._mode, logit_scale=self._scale).space
        if self._mode == "discrete":
            return Discrete(num_actions)
        return Box(float(space.low.min()), float(space.high.max()), (num_actions,))

    def reset(self, key: Array) -> RoundsState:
        """Before round 1."""
        memories = {}
        for n in self.players:
            d = self.num_actions[n]
            nothing = jnp.zeros(d)
            memories[n] = Memory(uniform_policy(d), nothing, nothing, nothing if self._bandit else None)
        states = {n: rule.init(self.num_actions[n], self.horizon) for n, rule in self.opponents.items()}
        stream = self.world
        begun = stream.begin(stream.data, key, stream.num_actions) if isinstance(stream, Stream) else None
        return RoundsState(jnp.int32(0), memories, states, begun)

    def step(
        self, key: Array, state: RoundsState, actions: Mapping[int, Array]
    ) -> tuple[RoundsState, dict[int, Outcome]]:
        """Play a round; actions and outcomes by player.

        Raises:
            ActionError: if actions have the wrong shape or, where they are known, are off the simplex in mode
                "strict"; traced ones make policies of NaN then.
        """
        stream_key, *keys = split(key, 1 + len(self.num_actions))
        policies = [
            self.opponents[n].policy(state.opponents[n])
            if n in self.opponents
            else self.policy(actions[n], d, state.t.shape, f"player_{n}")
            for n, d in enumerate(self.num_actions)
        ]
        played = policies
        if self._pure:
            uniforms = [over(jax.random.uniform, k) for k in keys]
            played = [kernel.sample(policy, u) for policy, u in zip(policies, uniforms, strict=True)]
        stream = state.stream
        if isinstance(self.world, Stream):
            world = self.world

            def draw(key: Array, state: Any, t: Array) -> tuple[Array, Any]:
                drawn, after = world.draw(world.data, key, state, t, (1, world.num_actions))
                return drawn[0], after

            drawn, stream = over(draw, stream_key, stream, state.t)
            losses = expected = [drawn]
        else:
            losses = self._losses(played)
            expected = self._losses(policies) if self._pure else losses
        outcomes, memories = {}, {}
        for n in self.players:
            outcomes[n] = Outcome(
                policy=policies[n],
                losses=losses[n],
                reward=-(losses[n] * played[n]).sum(0),
                expected_loss=(expected[n] * policies[n]).sum(0),
                action=played[n].argmax(0).astype(jnp.int32) if self._pure else None,
            )
            memory = state.memories[n]
            shown = losses[n] * played[n] if self._bandit else losses[n]
            counts = None if memory.counts is None else memory.counts + played[n]
            memories[n] = Memory(policies[n], shown, memory.totals + shown, counts)
        opponents = {}
        for n, rule in self.opponents.items():
            seen = losses[n]
            if self._bandit:
                layer = kernel.Layers(bandit=True, loss_offset=self._offsets[n])
                seen = kernel.estimate(layer, policies[n], played[n], losses[n])
            opponents[n] = rule.update(state.opponents[n], seen, policies[n])
        return RoundsState(state.t + 1, memories, opponents, stream), outcomes

    def _losses(self, policies: Sequence[Array]) -> list[Array]:
        return expected_losses([jnp.asarray(array, float) for array in self._table], policies)

    def observation(self, state: RoundsState, player: int, horizon: int | Array) -> Array:
        """The vector that `regret_envs.envs.observations` documents, float32 (1 + 3d,)."""
        memory = state.memories[player]
        time = jnp.minimum(state.t / horizon, 1.0)[None]
        counts = state.t if memory.counts is None else memory.counts
        means = memory.totals / jnp.maximum(counts, 1)
        return jnp.concatenate([time, memory.policy, memory.shown, means]).astype(jnp.float32)

    def policy(self, action: Array, num_actions: int, runs: tuple[int, ...], who: str) -> Array:
        """The policy that an action means, by the table of `regret_envs.envs.actions`."""
        discrete = self._mode == "discrete"
        shape = (*(() if discrete else (num_actions,)), *runs)
        if jnp.shape(action) != shape:
            raise ActionError(
                f"the action of {who} has shape {jnp.shape(action)}: action_mode={self._mode!r} takes {shape}"
            )
        if discrete:
            if known(action) and not ((np.asarray(action) >= 0) & (np.asarray(action) < num_actions)).all():
                raise ActionError(f"the action of {who} is {action}: pure actions are 0 … {num_actions - 1}")
            return one_hot(jnp.asarray(action), jnp.zeros(num_actions))
        x = jnp.asarray(action, float)
        # As in `ActionMap`: of large numbers only differences from the largest matter.
        large = jnp.abs(x).max(0) > 1e30 / max(self._scale, 1.0)
        if self._mode == "softmax":
            return softmax(self._scale * jnp.where(large, jnp.maximum(x - x.max(0), -2e3 / self._scale), x))
        if self._mode == "project":
            return project_to_simplex(jnp.where(large, jnp.maximum(x - x.max(0), -2.0), x))
        if self._mode == "strict":
            good = kernel.on_simplex(x)
            if known(good) and not good.all():
                raise ActionError(f"the action of {who} is off the simplex: {action}")
            return jnp.where(good, x, jnp.nan)
        mass = jnp.maximum(jnp.where(large, 1e-30 * x, x), 0.0)
        total = mass.sum(0)
        return jnp.where(total > 0, mass / jnp.where(total > 0, total, 1.0), 1.0 / num_actions)


def split(key: Array, num: int) -> list[Array]:
    """Keys of their own for `num` uses, each of the shape of `key`: one, or one per environment."""
    return list(
        jax.random.split(key, num) if _alone(key) else jax.vmap(lambda k: jax.random.split(k, num), 0, 1)(key)
    )


def over(function: Callable[..., Any], key: Array, *args: Any) -> Any:
    """A function of one environment's key and whatever else, over the environments if there are several."""
    return function(key, *args) if _alone(key) else jax.vmap(function, -1, -1)(key, *args)


def _alone(key: Array) -> bool:
    # Keys of the old kind are two words and no axis of environments.
    return key.ndim == 0 or not jnp.issubdtype(key.dtype, jax.dtypes.prng_key)


def _observation_space(num_actions: int, bound: float) -> Box:
    space: Any = observation_space(num_actions, bound)
    return Box(space.low, space.high, space.shape)
