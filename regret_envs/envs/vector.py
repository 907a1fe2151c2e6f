"""The native Gymnasium vector environment: one agent, many runs at once."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from regret_envs.envs.actions import ActionError, ActionMode
from regret_envs.envs.parallel import DEFAULT_HORIZON, EpisodeError
from regret_envs.envs.rounds import FeedbackMode
from regret_envs.envs.single import Opponents, single_player_rounds
from regret_envs.names import lookup
from regret_envs.validation import at_least
from regret_envs.worlds import World

FloatBatch = npt.NDArray[np.float64]
BoolBatch = npt.NDArray[np.bool_]


class VectorOptions(TypedDict, total=False):
    """The options that every vector environment of the suite takes; see `VectorPlay`."""

    horizon: int
    action_mode: ActionMode
    logit_scale: float
    feedback: FeedbackMode
    autoreset_mode: AutoresetMode | str


class VectorPlay(VectorEnv[npt.NDArray[np.float32], npt.NDArray[Any], npt.NDArray[Any]]):
    """`num_envs` runs of a world in lock-step, as a Gymnasium `VectorEnv` without a Python loop over runs.

    With `reset(seed=s)`, run r faces the losses of run r of `simulate(..., seed=s, num_runs=num_envs)`.
    Observations, actions and infos are those of `SinglePlay`, runs first. All runs end together.

    Args:
        world: a stream or a game.
        num_envs: runs.
        player: the agent's seat in a game.
        opponents: as in `SinglePlay`.
        horizon: rounds in an episode.
        action_mode: how actions become policies.
        logit_scale: of action_mode "softmax".
        feedback: "full" or "bandit".
        autoreset_mode: "NextStep" (Gymnasium's default: the step after the last one resets), "SameStep" (the
            last step returns the next episode's first observation, and its own in `infos["final_obs"]`) or
            "Disabled" (the caller resets), or a `gymnasium.vector.AutoresetMode`. TorchRL wants "Disabled".

    Raises:
        UnknownNameError: for an unknown mode, feedback or opponent; lists the near ones.
        ValueError: if a number is out of range, or there are not as many opponents as other seats.
    """

    def __init__(
        self,
        world: World,
        *,
        num_envs: int,
        player: int = 0,
        opponents: Opponents = (),
        horizon: int = DEFAULT_HORIZON,
        action_mode: ActionMode = "normalize",
        logit_scale: float = 10.0,
        feedback: FeedbackMode = "full",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        self.num_envs = at_least("num_envs", num_envs, 1)
        self._horizon = at_least("horizon", horizon, 1)
        self._rounds = single_player_rounds(
            world,
            player,
            opponents,
            action_mode=action_mode,
            logit_scale=logit_scale,
            feedback=feedback,
        )
        self._player = player
        self.single_observation_space = self._rounds.observation_spaces[player]
        self.single_action_space = self._rounds.action_maps[player].space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        if isinstance(autoreset_mode, str):
            autoreset_mode = lookup("autoreset_mode", autoreset_mode, {m.value: m for m in AutoresetMode})
        self.autoreset_mode = autoreset_mode
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": []}
        self._begun = self._over = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode of every run.

        Args:
            seed: as above; None draws the episode's seed from the last seed given, if there was one.
            options: `reset_mask`, as Gymnasium and TorchRL give it, must name every run.

        Raises:
            ValueError: if only some runs are to be reset, the world cannot last that long, or the seed is
                negative.
        """
        if not np.all((options or {}).get("reset_mask", True)):
            raise ValueError("the runs of this environment advance in lock-step: reset all of them, or none")
        super().reset(seed=seed)
        episode_seed = int(self.np_random.integers(2**63)) if seed is None else seed
        self._begun = False
        self._rounds.start(horizon=self._horizon, seed=episode_seed, num_runs=self.num_envs)
        self._begun, self._over = True, False
        return self._rounds.observations(self._player), self._infos()

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float32], FloatBatch, BoolBatch, BoolBatch, dict[str, Any]]:
        """Play a round of every run.

        Args:
            actions: (num_envs, num_actions), or int (num_envs,) where actions are discrete.

        Returns:
            Observations (num_envs, 1 + 3 · num_actions), rewards (num_envs,), terminations (all False),
            truncations (all True in the last round) and infos, one array per key.

        Raises:
            EpisodeError: before `reset`, and after the last round where autoreset is disabled.
            ActionError: if an action cannot be played; names the run. The round has not been played then.
        """
        if not self._begun or (self._over and self.autoreset_mode is AutoresetMode.DISABLED):
            raise EpisodeError("the episode is over or not begun: call reset()")
        nowhere = np.zeros(self.num_envs, dtype=bool)
        if self._over and self.autoreset_mode is AutoresetMode.NEXT_STEP:
            observations, infos = self.reset()
            return observations, np.zeros(self.num_envs), nowhere, nowhere.copy(), infos
        if np.shape(actions)[:1] != (self.num_envs,):
            raise ActionError(
                f"the actions have shape {np.shape(actions)}: the first axis is that of the "
                f"{self.num_envs} environments"
            )
        self._rounds.step([actions], ["the agent"])
        self._over = over = self._rounds.t == self._rounds.horizon
        rewards = self._rounds.seats[self._player].rewards
        observations, infos = self._rounds.observations(self._player), self._infos()
        if over and self.autoreset_mode is AutoresetMode.SAME_STEP:
            everywhere = np.ones(self.num_envs, dtype=bool)
            final: dict[str, Any] = {"final_obs": observations, "final_info": infos}
            final |= {"_final_obs": everywhere, "_final_info": everywhere.copy()}
            observations, infos = self.reset()
            infos |= final
        return observations, rewards, nowhere, np.full(self.num_envs, over), infos

    def _infos(self) -> dict[str, Any]:
        """The round's infos; beside each, as Gymnasium has it, which runs have one: all."""
        infos: dict[str, Any] = {}
        for key, value in self._rounds.seats[self._player].info().items():
            infos |= {key: value, f"_{key}": np.ones(self.num_envs, dtype=bool)}
        return infos
