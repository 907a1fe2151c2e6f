"""The PettingZoo environment: several agents, one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Space
from pettingzoo import ParallelEnv

from regret_envs.envs.actions import ActionError, ActionMode, batch_of_one
from regret_envs.envs.episodes import EpisodeError, HorizonEnds, episode_length, terminates
from regret_envs.envs.render import RENDER_MODES, Renderer
from regret_envs.envs.rounds import FeedbackMode, Opponent, Rounds
from regret_envs.names import lookup, near_matches
from regret_envs.seeding import RunSeeds
from regret_envs.validation import at_least
from regret_envs.worlds import World

Observations = dict[str, npt.NDArray[np.float32]]
Infos = dict[str, dict[str, Any]]


class ParallelOptions(TypedDict, total=False):
    """The options that every PettingZoo environment of the suite takes; see `ParallelPlay`."""

    horizon: int
    max_cycles: int
    action_mode: ActionMode
    logit_scale: float
    feedback: FeedbackMode
    opponents: Mapping[str, Opponent]
    horizon_ends: HorizonEnds
    render_mode: str | None


class ParallelPlay(ParallelEnv[str, npt.NDArray[np.float32], Any]):  # type: ignore[misc]
    """Agents that play a world for `horizon` rounds, as a PettingZoo `ParallelEnv`.

    Observations are documented slice by slice in `regret_envs.envs.observations`, action modes in
    `regret_envs.envs.actions`, infos in `regret_envs.envs.rounds.SeatRecord`. Rewards are negated losses.
    All agents end together at the horizon. `reset(seed=s)` gives the losses of
    `simulate(world, ..., seed=s)`, to the bit; later resets without a seed draw theirs from s.

    Args:
        world: a stream, which all agents face, or a game.
        num_agents: seats.
        name: shown by PettingZoo.
        horizon: rounds in an episode; `max_cycles` is PettingZoo's name for it.
        action_mode: how actions become policies.
        logit_scale: of action_mode "softmax".
        feedback: "full" or "bandit".
        opponents: agents of the suite for some of the seats: `{"player_1": "hedge"}`. They are not agents
            of the environment.
        horizon_ends: whether the last round is "terminated" or "truncated" (`regret_envs.envs.episodes`).
        render_mode: "human", "rgb_array", "ansi" or None.

    Attributes:
        observation_spaces, action_spaces: by agent.
        state_space: of `state`, for centralized critics.
        horizon: rounds in an episode, from the next reset on; `max_cycles` is the same.
        action_mode, logit_scale, feedback: as given.

    Raises:
        UnknownNameError: for an unknown mode, feedback, opponent or seat; lists the near ones.
        ValueError: if a number is out of range, or both `horizon` and `max_cycles` are given.
        TypeError: if `opponents` is not a mapping.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's own form
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": True,
        "render_fps": 10,
    }

    def __init__(
        self,
        world: World,
        *,
        num_agents: int,
        name: str,
        horizon: int | None = None,
        max_cycles: int | None = None,
        action_mode: ActionMode = "softmax",
        logit_scale: float = 10.0,
        feedback: FeedbackMode = "full",
        opponents: Mapping[str, Opponent] | None = None,
        horizon_ends: HorizonEnds = "terminated",
        render_mode: str | None = None,
    ) -> None:
        self.max_cycles = episode_length(horizon, max_cycles)
        self._terminates = terminates(horizon_ends)
        if opponents is not None and not isinstance(opponents, Mapping):
            raise TypeError(
                f'opponents must say who sits where, as in {{"player_1": "hedge"}}, got {opponents!r}'
            )
        names = [f"player_{seat}" for seat in range(at_least("num_agents", num_agents, 1))]
        seats = {seat_name: seat for seat, seat_name in enumerate(names)}
        self._rounds = Rounds(
            world,
            num_agents,
            action_mode=action_mode,
            logit_scale=logit_scale,
            feedback=feedback,
            opponents={lookup("player", str(n), seats): agent for n, agent in (opponents or {}).items()},
        )
        self.possible_agents = [names[player] for player in self._rounds.players]
        self.agents: list[str] = []
        self._players = {names[player]: player for player in self._rounds.players}
        self.action_mode, self.logit_scale, self.feedback = action_mode, logit_scale, feedback
        self.observation_spaces = {n: self._rounds.observation_spaces[p] for n, p in self._players.items()}
        self.action_spaces = {n: self._rounds.action_maps[p].space for n, p in self._players.items()}
        boxes = [space for space in self.observation_spaces.values() if isinstance(space, Box)]
        low, high = (np.concatenate([getattr(box, side) for box in boxes]) for side in ("low", "high"))
        self.state_space = Box(low, high, dtype=np.float32)
        self.metadata = {**self.metadata, "name": name}
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, self._rounds.labels()) if render_mode is not None else None
        # Made in `reset`: copies of an environment must not share a generator.
        self._rng: np.random.Generator | None = None
        self._begun = False

    @property
    def horizon(self) -> int:
        """Rounds in an episode."""
        return self.max_cycles

    @horizon.setter
    def horizon(self, value: int) -> None:
        self.max_cycles = value

    @property
    def np_random(self) -> np.random.Generator:
        """The generator that draws the seeds of episodes reset without one."""
        if self._rng is None:
            self._rng = np.random.default_rng()
        return self._rng

    def observation_space(self, agent: str) -> Space[Any]:
        """The agent's observation space, the same object each time."""
        return lookup("player", agent, self.observation_spaces)

    def action_space(self, agent: str) -> Space[Any]:
        """The agent's action space, the same object each time."""
        return lookup("player", agent, self.action_spaces)

    def state(self) -> npt.NDArray[np.float32]:
        """The observations of all agents in the order of `possible_agents`, one after the other.

        Raises:
            EpisodeError: before `reset`.
        """
        if not self._begun:
            raise EpisodeError("there is no state yet: call reset()")
        return np.concatenate([*self._observations().values()])

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Begin an episode.

        Args:
            seed: as above; None draws the episode's seed from the last seed given, if there was one.
            options: unused.

        Raises:
            ValueError: if the world cannot last `max_cycles` rounds, or the seed is negative.
            TypeError: if the seed is not an integer (NumPy's are).
        """
        if seed is not None:
            seed = at_least("seed", seed, 0)
            self._rng = np.random.default_rng(seed)
        episode_seed = int(self.np_random.integers(2**63)) if seed is None else seed
        self.agents, self._begun = [], False
        self.max_cycles = at_least("max_cycles", self.max_cycles, 1)
        self._rounds.start(horizon=self.max_cycles, seeds=RunSeeds(episode_seed, 1))
        self.agents, self._begun = self.possible_agents[:], True
        if self._renderer is not None:
            self._renderer.reset(self._rounds.seats, self._rounds.horizon)
        return self._observations(), self._infos()

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Play a round.

        Args:
            actions: an action for every live agent.

        Returns:
            Observations, rewards −⟨ℓ_t, π_t⟩, terminations and truncations (one of them True in the last
            round, as `horizon_ends` says) and infos, by agent; new dicts and arrays each time.

        Raises:
            EpisodeError: before `reset` and after the last round.
            ActionError: if an action is missing or cannot be played; names the agent. The round has not
                been played then.
        """
        if not self.agents:
            state = f"over after {self._rounds.t} rounds" if self._begun else "not begun"
            raise EpisodeError(f"the episode is {state}: call reset()")
        live = self.agents
        if actions.keys() != self._players.keys():
            if missing := [agent for agent in live if agent not in actions]:
                raise ActionError(f"no action for {', '.join(missing)}: every live agent acts in every round")
            for agent in actions.keys() - self._players:
                raise ActionError(f"an action for {agent!r}: {near_matches(str(agent), self._players)}")
        self._rounds.step([batch_of_one(actions[agent]) for agent in live], live)
        if self._renderer is not None:
            self._renderer.watch(self._rounds.seats)
        over = self._rounds.t == self._rounds.horizon
        rewards: list[float] = []
        for group in self._rounds.groups:
            rewards += group.record.rewards.tolist()
        if over:
            self.agents = []
        return (
            self._observations(),
            dict(zip(live, rewards, strict=True)),
            dict.fromkeys(live, over and self._terminates),
            dict.fromkeys(live, over and not self._terminates),
            self._infos(),
        )

    def render(self) -> Any:
        """The picture, the line or None, as `render_mode` says.

        Raises:
            EpisodeError: before `reset`.
            ValueError: if the environment was made without a render_mode.
            ImportError: if matplotlib is needed and missing.
        """
        if self._renderer is None:
            raise ValueError(f"make the environment with render_mode= one of {', '.join(RENDER_MODES)}")
        if not self._begun:
            raise EpisodeError("nothing to render yet: call reset()")
        return self._renderer.render()

    def close(self) -> None:
        """Close the window of render_mode "human"."""
        if self._renderer is not None:
            self._renderer.close()

    def _observations(self) -> Observations:
        rows = [row for group in self._rounds.groups for row in group.observer.observations()]
        return dict(zip(self._players, rows, strict=True))

    def _infos(self) -> Infos:
        infos: list[dict[str, Any]] = []
        for group in self._rounds.groups:
            info = group.record.info()
            infos += [dict(zip(info, values, strict=True)) for values in zip(*info.values(), strict=True)]
        return dict(zip(self._players, infos, strict=True))
