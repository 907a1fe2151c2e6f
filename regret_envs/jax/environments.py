"""Functional environments: `jit`, `vmap` and `scan` them.

Of many environments XLA makes several times faster code where they are the last axis and not the first.
States that `jax.vmap(env.reset, out_axes=-1)(keys)` makes can be stepped without `vmap`, with the
environments last in actions and keys too: `env.step(keys, states, actions)`.

Rewards, observations, action modes, infos and spaces are those of the PettingZoo and Gymnasium environments
(`regret_envs.envs`); a game is the same to rounding, a stream's losses and drawn actions follow the same
laws. Names are JaxMARL's where several agents play (`MultiAgentEnv`) and gymnax's where one does
(`Environment`). As there, `step` begins a new episode where one ends and returns its first observation;
`step_env` does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from regret_envs import games
from regret_envs.envs.actions import ActionError, ActionMode
from regret_envs.envs.rounds import FeedbackMode
from regret_envs.games import Game
from regret_envs.jax.learning import checked_key
from regret_envs.jax.rounds import Rounds, RoundsState, over, split
from regret_envs.jax.rule import Rule
from regret_envs.jax.spaces import Box, Discrete
from regret_envs.jax.worlds import Stream
from regret_envs.names import lookup
from regret_envs.validation import at_least
from regret_envs.worlds import World

ByAgent = dict[str, Any]


class RepeatedGame:
    """A game played for `horizon` rounds, after JaxMARL's `MultiAgentEnv`.

    Args:
        game: a normal-form game, or its name in `regret_envs.games.NAMED_GAMES`.
        horizon: rounds in an episode.
        action_mode: how actions become policies, see `regret_envs.envs.actions`. In mode "strict" a traced
            action off the simplex makes everything NaN, since compiled code raises nothing.
        logit_scale: of action_mode "softmax".
        feedback: "full" or "bandit".
        opponents: rules for some of the seats, `{"player_1": hedge(0.1)}`; they are not agents of the
            environment.

    Attributes:
        agents: "player_0", "player_1", … without the opponents.
        num_agents: how many.
        observation_spaces, action_spaces: by agent.

    Raises:
        UnknownNameError: for an unknown game, mode, feedback or seat; lists the near ones.
        ValueError: if a number is out of range, or the game is not in normal form.
        TypeError: if an opponent is not a rule.
    """

    def __init__(
        self,
        game: str | Game,
        *,
        horizon: int = 100,
        action_mode: ActionMode = "softmax",
        logit_scale: float = 10.0,
        feedback: FeedbackMode = "full",
        opponents: Mapping[str, Rule] | None = None,
    ) -> None:
        world = games.make(game) if isinstance(game, str) else game
        if not isinstance(world, Game):
            raise TypeError(f"game must be a game or its name, got {game!r}")
        self.horizon = at_least("horizon", horizon, 1)
        names = {f"player_{n}": n for n in range(world.num_players)}
        self._rounds = Rounds(
            world,
            horizon=horizon,
            action_mode=action_mode,
            logit_scale=logit_scale,
            feedback=feedback,
            opponents={lookup("player", name, names): rule for name, rule in (opponents or {}).items()},
        )
        self._players = {f"player_{n}": n for n in self._rounds.players}
        self.agents = list(self._players)
        self.num_agents = len(self.agents)
        self.observation_spaces = {a: self._rounds.observation_spaces[n] for a, n in self._players.items()}
        self.action_spaces = {a: self._rounds.action_spaces[n] for a, n in self._players.items()}

    @property
    def name(self) -> str:
        """The class's."""
        return type(self).__name__

    def observation_space(self, agent: str) -> Box:
        """The agent's."""
        return self._rounds.observation_spaces[lookup("player", agent, self._players)]

    def action_space(self, agent: str) -> Box | Discrete:
        """The agent's."""
        return self._rounds.action_spaces[lookup("player", agent, self._players)]

    def reset(self, key: Array) -> tuple[ByAgent, RoundsState]:
        """Begin an episode: observations by agent, float32 (1 + 3d,), and the state."""
        state = self._rounds.reset(checked_key(key))
        return self.get_obs(state), state

    def step(
        self, key: Array, state: RoundsState, actions: ByAgent
    ) -> tuple[ByAgent, RoundsState, ByAgent, ByAgent, ByAgent]:
        """Play a round, and begin a new episode where it was the last.

        Args:
            key: of what is drawn.
            state: the state.
            actions: by agent.

        Returns:
            Observations, the state, rewards −⟨ℓ_t, π_t⟩, dones (all agents' and "__all__", True at the
            horizon) and infos, by agent.

        Raises:
            ActionError: if an action is missing, or cannot be played.
        """
        step_key, reset_key = split(checked_key(key, several=state.t.ndim > 0), 2)
        _, state, rewards, dones, infos = self.step_env(step_key, state, actions)
        state = _begun_again(self._rounds, reset_key, state, dones["__all__"])
        return self.get_obs(state), state, rewards, dones, infos

    def step_env(
        self, key: Array, state: RoundsState, actions: ByAgent
    ) -> tuple[ByAgent, RoundsState, ByAgent, ByAgent, ByAgent]:
        """`step` without a new episode."""
        if missing := [agent for agent in self.agents if agent not in actions]:
            raise ActionError(f"no action for {', '.join(missing)}: every agent acts in every round")
        key = checked_key(key, several=state.t.ndim > 0)
        state, outcomes = self._rounds.step(key, state, {n: actions[a] for a, n in self._players.items()})
        over = state.t >= self.horizon
        rewards = {agent: outcomes[n].reward for agent, n in self._players.items()}
        dones = dict.fromkeys([*self.agents, "__all__"], over)
        infos = {agent: outcomes[n].info() for agent, n in self._players.items()}
        return self.get_obs(state), state, rewards, dones, infos

    def get_obs(self, state: RoundsState) -> ByAgent:
        """Observations by agent."""
        return {agent: self._rounds.observation(state, n, self.horizon) for agent, n in self._players.items()}


def _begun_again(rounds: Rounds, key: Array, state: RoundsState, done: Array) -> RoundsState:
    """A new episode where one is done."""
    return jax.tree.map(lambda new, old: jnp.where(done, new, old), over(rounds.reset, key), state)


class EnvParams(NamedTuple):
    """gymnax's parameters of an environment: the rounds of an episode."""

    max_steps_in_episode: int | Array


class SinglePlay:
    """One agent that faces a stream, or a game whose other seats rules have, after gymnax's `Environment`.

    Args:
        world: a stream, of `regret_envs.jax` or `regret_envs.streams`, or a normal-form game.
        player: the agent's seat in a game.
        opponents: one rule for all other seats, or one for each.
        Others: as in `RepeatedGame`.

    Raises:
        ValueError: as in `RepeatedGame`, and if there is no such seat or not as many rules as other seats.
        TypeError: if the world is neither, or an opponent not a rule.
    """

    def __init__(
        self,
        world: World | Stream,
        *,
        player: int = 0,
        opponents: Rule | Sequence[Rule] = (),
        horizon: int = 100,
        action_mode: ActionMode = "softmax",
        logit_scale: float = 10.0,
        feedback: FeedbackMode = "full",
    ) -> None:
        self.horizon = at_least("horizon", horizon, 1)
        num_seats = world.num_players if isinstance(world, Game) else 1
        if not 0 <= at_least("player", player, 0) < num_seats:
            raise ValueError(f"player must be a seat of the game, 0 … {num_seats - 1}, got {player}")
        others = [seat for seat in range(num_seats) if seat != player]
        rules = [opponents] * len(others) if isinstance(opponents, Rule) else list(opponents)
        if len(rules) != len(others):
            raise ValueError(
                f"there are {len(others)} other seats and {len(rules)} opponents: give one for each"
            )
        self._player = player
        self._rounds = Rounds(
            world,
            horizon=horizon,
            action_mode=action_mode,
            logit_scale=logit_scale,
            feedback=feedback,
            opponents=dict(zip(others, rules, strict=True)),
        )

    @property
    def name(self) -> str:
        """The class's."""
        return type(self).__name__

    @property
    def num_actions(self) -> int:
        """d."""
        return self._rounds.num_actions[self._player]

    @property
    def default_params(self) -> EnvParams:
        """The horizon."""
        return EnvParams(self.horizon)

    def observation_space(self, params: EnvParams | None = None) -> Box:
        """The agent's."""
        return self._rounds.observation_spaces[self._player]

    def action_space(self, params: EnvParams | None = None) -> Box | Discrete:
        """The agent's."""
        return self._rounds.action_spaces[self._player]

    def reset(self, key: Array, params: EnvParams | None = None) -> tuple[Array, RoundsState]:
        """Begin an episode: the observation, float32 (1 + 3d,), and the state."""
        state = self._rounds.reset(checked_key(key))
        return self.get_obs(state, params), state

    def step(
        self, key: Array, state: RoundsState, action: Array, params: EnvParams | None = None
    ) -> tuple[Array, RoundsState, Array, Array, dict[str, Array]]:
        """Play a round, and begin a new episode where it was the last.

        Returns:
            The observation, the state, the reward −⟨ℓ_t, π_t⟩, whether the episode is done, and the info.

        Raises:
            ActionError: if the action cannot be played.
        """
        step_key, reset_key = split(checked_key(key, several=state.t.ndim > 0), 2)
        _, state, reward, done, info = self.step_env(step_key, state, action, params)
        state = _begun_again(self._rounds, reset_key, state, done)
        return self.get_obs(state, params), state, reward, done, info

    def step_env(
        self, key: Array, state: RoundsState, action: Array, params: EnvParams | None = None
    ) -> tuple[Array, RoundsState, Array, Array, dict[str, Array]]:
        """`step` without a new episode."""
        key = checked_key(key, several=state.t.ndim > 0)
        state, outcomes = self._rounds.step(key, state, {self._player: action})
        done = state.t >= (params or self.default_params).max_steps_in_episode
        outcome = outcomes[self._player]
        return self.get_obs(state, params), state, outcome.reward, done, outcome.info()

    def get_obs(self, state: RoundsState, params: EnvParams | None = None) -> Array:
        """The observation."""
        return self._rounds.observation(
            state, self._player, (params or self.default_params).max_steps_in_episode
        )
