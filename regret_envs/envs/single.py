"""The Gymnasium environment: one agent, one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec

from regret_envs.envs.actions import ActionMode, batch_of_one
from regret_envs.envs.episodes import EpisodeError, HorizonEnds, PlaySpec, episode_length, terminates
from regret_envs.envs.render import RENDER_MODES, Renderer
from regret_envs.envs.rounds import FeedbackMode, Opponent, Rounds
from regret_envs.seeding import RunSeeds
from regret_envs.validation import at_least
from regret_envs.worlds import World

Opponents = Opponent | Sequence[Opponent]


class SingleOptions(TypedDict, total=False):
    """The options that every Gymnasium environment of the suite takes; see `SinglePlay`."""

    horizon: int
    max_cycles: int
    action_mode: ActionMode
    logit_scale: float
    feedback: FeedbackMode
    horizon_ends: HorizonEnds
    render_mode: str | None


class SinglePlay(gymnasium.Env[npt.NDArray[np.float32], Any]):
    """One agent that plays a world for `horizon` rounds, as a Gymnasium `Env`.

    Observations, action modes, infos, rewards, seeds and the end are those of `ParallelPlay`.

    Args:
        world: a stream or a game.
        player: the agent's seat in a game; opponents have the others.
        opponents: one agent of the suite (a name or an object) for all other seats, or one for each.
        horizon: rounds in an episode; `max_cycles` is PettingZoo's name for it.
        action_mode: how actions become policies.
        logit_scale: of action_mode "softmax".
        feedback: "full" or "bandit".
        horizon_ends: whether the last round is "terminated" or "truncated" (`regret_envs.envs.episodes`).
        render_mode: "human", "rgb_array", "ansi" or None.

    Attributes:
        horizon, action_mode, logit_scale, feedback: as given.
        spec: where Gymnasium made the environment, its spec with `max_episode_steps` = horizon.

    Raises:
        UnknownNameError: for an unknown mode, feedback or opponent; lists the near ones.
        ValueError: if a number is out of range, or there are not as many opponents as other seats.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 10}  # noqa: RUF012

    def __init__(
        self,
        world: World,
        *,
        player: int = 0,
        opponents: Opponents = (),
        horizon: int | None = None,
        max_cycles: int | None = None,
        action_mode: ActionMode = "softmax",
        logit_scale: float = 10.0,
        feedback: FeedbackMode = "full",
        horizon_ends: HorizonEnds = "terminated",
        render_mode: str | None = None,
    ) -> None:
        self.horizon = episode_length(horizon, max_cycles)
        self._terminates = terminates(horizon_ends)
        self._rounds = single_player_rounds(
            world,
            player,
            opponents,
            action_mode=action_mode,
            logit_scale=logit_scale,
            feedback=feedback,
        )
        self._player = player
        self.action_mode, self.logit_scale, self.feedback = action_mode, logit_scale, feedback
        self._spec: EnvSpec | None = None
        self.observation_space = self._rounds.observation_spaces[player]
        self.action_space = self._rounds.action_maps[player].space
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, self._rounds.labels()) if render_mode is not None else None
        self._live = self._begun = False

    @property
    def spec(self) -> EnvSpec | None:
        """What Gymnasium made the environment from, or None; `max_episode_steps` is the horizon."""
        if self._spec is not None:
            self._spec.max_episode_steps = self.horizon
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = None if spec is None else PlaySpec(spec, self.horizon)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which pure actions can be played, all of them, (num_actions,): for sb3-contrib's MaskablePPO."""
        return np.ones(self._rounds.num_actions[self._player], dtype=bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode; arguments and errors as in `ParallelPlay.reset`."""
        seed = None if seed is None else at_least("seed", seed, 0)
        super().reset(seed=seed)
        episode_seed = int(self.np_random.integers(2**63)) if seed is None else seed
        self.horizon = at_least("horizon", self.horizon, 1)
        self._live = False
        self._begun = True
        self._rounds.start(horizon=self.horizon, seeds=RunSeeds(episode_seed, 1))
        self._live = True
        (self._group,) = self._rounds.groups
        if self._renderer is not None:
            self._renderer.reset(self._rounds.seats, self._rounds.horizon)
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play a round.

        Returns:
            The observation, the reward −⟨ℓ_t, π_t⟩, terminated and truncated (one of them True in the last
            round, as `horizon_ends` says) and the info.

        Raises:
            EpisodeError: before `reset` and after the last round.
            ActionError: if the action cannot be played. The round has not been played then.
        """
        if not self._live:
            raise EpisodeError("the episode is over or not begun: call reset()")
        self._rounds.step([batch_of_one(action)], ["the agent"])
        if self._renderer is not None:
            self._renderer.watch(self._rounds.seats)
        over = self._rounds.t == self._rounds.horizon
        self._live = not over
        return (
            self._observation(),
            self._group.record.rewards.item(),
            over and self._terminates,
            over and not self._terminates,
            self._info(),
        )

    def render(self) -> Any:
        """The picture, the line or None, as `render_mode` says; errors as in `ParallelPlay.render`."""
        if self._renderer is None:
            raise ValueError(f"make the environment with render_mode= one of {', '.join(RENDER_MODES)}")
        if not self._begun:
            raise EpisodeError("nothing to render yet: call reset()")
        return self._renderer.render()

    def close(self) -> None:
        """Close the window of render_mode "human"."""
        if self._renderer is not None:
            self._renderer.close()

    def _observation(self) -> npt.NDArray[np.float32]:
        return self._group.observer.observations()[0]

    def _info(self) -> dict[str, Any]:
        return {key: value[0] for key, value in self._group.record.info().items()}


def single_player_rounds(
    world: World,
    player: int,
    opponents: Opponents,
    *,
    action_mode: ActionMode,
    logit_scale: float,
    feedback: FeedbackMode,
) -> Rounds:
    """The rounds of one agent at seat `player` of a game with opponents at the others, or facing a stream.

    Raises:
        ValueError: if there is no such seat, or not as many opponents as other seats.
    """
    num_seats = world.default_seats()
    if not 0 <= at_least("player", player, 0) < num_seats:
        raise ValueError(f"player must be a seat of the game, 0 … {num_seats - 1}, got {player}")
    others = [seat for seat in range(num_seats) if seat != player]
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        agents = list(opponents)
    else:
        agents = [opponents] * len(others)
    if len(agents) != len(others):
        raise ValueError(
            f"{world!r} has {len(others)} seats for opponents and {len(agents)} were given: give one for "
            "each, or a single one for all"
        )
    return Rounds(
        world,
        num_seats,
        action_mode=action_mode,
        logit_scale=logit_scale,
        feedback=feedback,
        opponents=dict(zip(others, agents, strict=True)),
    )
