"""The rounds of the functional environments: one run, pure; they are those of `regret_envs.envs.rounds`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from regret_envs.jax._dtype import known
from regret_envs.jax.rule import Rule, State, one_hot, softmax, uniform_policy
from regret_envs.jax.rules import project_to_simplex
from regret_envs.jax.spaces import Box, Discrete
from regret_envs.jax.worlds import Stream, as_world, expected_losses, own_actions_first
from regret_envs.names import lookup
from regret_envs.worlds import World


class Seat(NamedTuple):
    """What one seat did and met in the last round, and what its observation is made of.

    Attributes:
        policy, losses: π_t and ℓ_t, (d,); in pure play ℓ_t is against the others' drawn actions.
        reward: −⟨ℓ_t, π_t⟩, or in pure play −ℓ_t(a_t).
        action: in pure play the drawn action, −1 before round 1; else None.
        expected_loss: the loss that was to be expected of all seats' policies.
        shown, totals, counts: the losses shown last, their sums, and how often each was shown, (d,).
    """

    policy: Array
    losses: Array
    reward: Array
    action: Array | None
    expected_loss: Array
    shown: Array
    totals: Array
    counts: Array


class RoundsState(NamedTuple):
    """An episode.

    Attributes:
        t: rounds played.
        seats: every seat's.
        opponents: the states of the rules at their seats, by seat.
        stream: the stream's state.
    """

    t: Array
    seats: tuple[Seat, ...]
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
        self._pure = self._bandit or action_mode == "discrete"
        self._mode, self._scale = action_mode, logit_scale
        self.opponents = dict(opponents)
        for seat, rule in self.opponents.items():
            if not isinstance(rule, Rule):
                raise TypeError(f"opponents are rules such as hedge(0.1), got {rule!r} (player {seat})")
            if reason := unfit(rule, [Bandit()] if self._bandit else []):
                raise ValueError(f"opponent {rule.name} (player {seat}) {reason}")
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
        seats = []
        for d in self.num_actions:
            nothing = jnp.zeros(d)
            action = jnp.int32(-1) if self._pure else None
            zero = jnp.zeros(())
            seats.append(Seat(uniform_policy(d), nothing, zero, action, zero, nothing, nothing, nothing))
        states = {n: rule.init(self.num_actions[n], self.horizon) for n, rule in self.opponents.items()}
        stream = self.world
        begun = stream.begin(stream.data, key, stream.num_actions) if isinstance(stream, Stream) else None
        return RoundsState(jnp.int32(0), tuple(seats), states, begun)

    def step(self, key: Array, state: RoundsState, actions: Mapping[int, Array]) -> RoundsState:
        """Play a round; `actions` by player.

        Raises:
            ActionError: if actions have the wrong shape or, where they are known, are off the simplex in mode
                "strict"; traced ones make policies of NaN then.
        """
        stream_key, *keys = jax.random.split(key, 1 + len(self.num_actions))
        policies = [
            self.opponents[n].policy(state.opponents[n])
            if n in self.opponents
            else self.policy(actions[n], d, f"player_{n}")
            for n, d in enumerate(self.num_actions)
        ]
        played = policies
        if self._pure:
            uniforms = [
                jax.random.uniform(k, (), policy.dtype) for k, policy in zip(keys, policies, strict=True)
            ]
            played = [kernel.sample(policy, u) for policy, u in zip(policies, uniforms, strict=True)]
        stream = state.stream
        if isinstance(self.world, Stream):
            world = self.world
            drawn, stream = world.draw(world.data, stream_key, stream, state.t, (1, world.num_actions))
            losses = expected = [drawn[0]]
        else:
            losses = self._losses(played)
            expected = self._losses(policies) if self._pure else losses
        seats = tuple(map(self._seat, state.seats, policies, played, losses, expected))
        opponents = {}
        for n, rule in self.opponents.items():
            shown = losses[n]
            if self._bandit:
                shown = kernel.estimate(kernel.Layers(bandit=True), policies[n], played[n], losses[n])
            opponents[n] = rule.update(state.opponents[n], shown, policies[n])
        return RoundsState(state.t + 1, seats, opponents, stream)

    def _losses(self, policies: Sequence[Array]) -> list[Array]:
        return expected_losses([jnp.asarray(array, float) for array in self._table], policies)

    def _seat(self, last: Seat, policy: Array, played: Array, losses: Array, expected: Array) -> Seat:
        seen = played if self._bandit else jnp.ones_like(played)
        return Seat(
            policy=policy,
            losses=losses,
            reward=-(losses * played).sum(),
            action=jnp.argmax(played).astype(jnp.int32) if self._pure else None,
            expected_loss=(expected * policy).sum(),
            shown=losses * seen,
            totals=last.totals + losses * seen,
            counts=last.counts + seen,
        )

    def observation(self, state: RoundsState, player: int, horizon: int | Array) -> Array:
        """The vector that `regret_envs.envs.observations` documents, float32 (1 + 3d,)."""
        seat = state.seats[player]
        time = jnp.minimum(state.t / horizon, 1.0)[None]
        means = seat.totals / jnp.maximum(seat.counts, 1.0)
        return jnp.concatenate([time, seat.policy, seat.shown, means]).astype(jnp.float32)

    def info(self, state: RoundsState, player: int) -> dict[str, Array]:
        """The round as numbers, with the keys of `regret_envs.envs.rounds.Seat.info`."""
        seat = state.seats[player]
        info = {"policy": seat.policy, "losses": seat.losses, "expected_loss": seat.expected_loss}
        if seat.action is not None:
            info |= {"realized_action": seat.action, "realized_loss": -seat.reward}
        return info

    def policy(self, action: Array, num_actions: int, who: str) -> Array:
        """The policy that an action means, by the table of `regret_envs.envs.actions`."""
        shape = () if self._mode == "discrete" else (num_actions,)
        if jnp.shape(action) != shape:
            raise ActionError(
                f"the action of {who} has shape {jnp.shape(action)}: action_mode={self._mode!r} takes {shape}"
            )
        if self._mode == "discrete":
            if known(action) and not 0 <= int(action) < num_actions:
                raise ActionError(f"the action of {who} is {action}: pure actions are 0 … {num_actions - 1}")
            return one_hot(jnp.asarray(action), jnp.zeros(num_actions))
        x = jnp.asarray(action, float)
        if self._mode == "softmax":
            return softmax(self._scale * x)
        if self._mode == "project":
            return project_to_simplex(x)
        if self._mode == "strict":
            good = kernel.on_simplex(x)
            if known(action) and not good:
                raise ActionError(f"the action of {who} is off the simplex: {action}")
            return jnp.where(good, x, jnp.nan)
        mass = jnp.maximum(x, 0.0)
        total = mass.sum()
        return jnp.where(total > 0, mass / jnp.where(total > 0, total, 1.0), 1.0 / num_actions)


def _observation_space(num_actions: int, bound: float) -> Box:
    space: Any = observation_space(num_actions, bound)
    return Box(space.low, space.high, space.shape)
