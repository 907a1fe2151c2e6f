"""The PettingZoo AEC environment: the agents of the parallel one act one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Space
from pettingzoo import AECEnv

from regret_envs.envs.episodes import EpisodeError
from regret_envs.envs.parallel import ParallelPlay


class SequentialPlay(AECEnv[str, npt.NDArray[np.float32], Any]):  # type: ignore[misc]
    """The rounds of a `ParallelPlay`, as a PettingZoo `AECEnv`.

    A round is played when the last agent has acted, so that nobody sees the others' actions of the round.
    Then all agents have the rewards and observations of the round, until the next one is played.

    Args:
        parallel: the environment whose rounds are played.

    Attributes:
        possible_agents, observation_spaces, action_spaces, state_space, metadata, render_mode: those of
            `parallel`.
    """

    def __init__(self, parallel: ParallelPlay) -> None:
        self._parallel = parallel
        self.metadata = parallel.metadata
        self.render_mode = parallel.render_mode
        self.possible_agents = parallel.possible_agents
        self.observation_spaces = parallel.observation_spaces
        self.action_spaces = parallel.action_spaces
        self.state_space = parallel.state_space
        self.agents: list[str] = []

    @property
    def horizon(self) -> int:
        """Rounds in an episode, from the next reset on; `max_cycles` is the same."""
        return self._parallel.max_cycles

    @horizon.setter
    def horizon(self, value: int) -> None:
        self._parallel.max_cycles = value

    max_cycles = horizon

    @property
    def np_random(self) -> np.random.Generator:
        """The generator that draws the seeds of episodes reset without one."""
        return self._parallel.np_random

    def observation_space(self, agent: str) -> Space[Any]:
        """The agent's observation space, the same object each time."""
        return self._parallel.observation_space(agent)

    def action_space(self, agent: str) -> Space[Any]:
        """The agent's action space, the same object each time."""
        return self._parallel.action_space(agent)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode; arguments and errors as in `ParallelPlay.reset`."""
        self.agents = []
        self._observations, self.infos = self._parallel.reset(seed, options)
        self.agents = self.possible_agents[:]
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = self.rewards.copy()
        self._actions: dict[str, Any] = {}
        self.agent_selection = self.agents[0]

    def step(self, action: Any) -> None:
        """Take the action of `agent_selection`, and play the round if it is the last agent's.

        Raises:
            EpisodeError: before `reset`, and after the last agent has left the episode.
            ActionError: if an action of the round is missing or cannot be played; names the agent.
            ValueError: if the episode is over and the action is not None.
        """
        if not self.agents:
            raise EpisodeError("the episode is over or not begun: call reset()")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._actions[agent] = action
        following = len(self._actions)
        if following < len(self.agents):
            if following == 1:
                self._clear_rewards()
            self.agent_selection = self.agents[following]
            return
        actions, self._actions = self._actions, {}
        self.agent_selection = self.agents[0]
        played = self._parallel.step(actions)
        self._observations, self.rewards, self.terminations, self.truncations, self.infos = played
        self._cumulative_rewards = self.rewards.copy()
        if not self._parallel.agents:
            self._deads_step_first()

    def observe(self, agent: str) -> npt.NDArray[np.float32]:
        """What the agent saw last."""
        return self._observations[agent]

    def state(self) -> npt.NDArray[np.float32]:
        """As `ParallelPlay.state`."""
        return self._parallel.state()

    def render(self) -> Any:
        """As `ParallelPlay.render`."""
        return self._parallel.render()

    def close(self) -> None:
        """As `ParallelPlay.close`."""
        self._parallel.close()

    def __str__(self) -> str:
        return str(self._parallel)
