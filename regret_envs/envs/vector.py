"""The native Gymnasium vector environment: one agent, many runs at once."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from regret_envs.arrays import IntArray
from regret_envs.envs.actions import ActionError, ActionMode
from regret_envs.envs.episodes import EpisodeError, HorizonEnds, episode_length, terminates
from regret_envs.envs.rounds import FeedbackMode, Rounds
from regret_envs.envs.single import Opponents, single_player_rounds
from regret_envs.names import lookup
from regret_envs.seeding import ListedSeeds, RunSeeds
from regret_envs.validation import at_least
from regret_envs.worlds import World

try:
    from gymnasium.vector import AutoresetMode
except ImportError:  # Gymnasium below 1.1

    class AutoresetMode(Enum):  # type: ignore[no-redef]
        """What `step` does after the last round."""

        NEXT_STEP, SAME_STEP, DISABLED = "NextStep", "SameStep", "Disabled"


FloatBatch = npt.NDArray[np.float64]
BoolBatch = npt.NDArray[np.bool_]


class VectorOptions(TypedDict, total=False):
    """The options that every vector environment of the suite takes; see `VectorPlay`."""

    horizon: int
    max_cycles: int
    action_mode: ActionMode
    logit_scale: float
    feedback: FeedbackMode
    horizon_ends: HorizonEnds
    autoreset_mode: AutoresetMode | str
    render_mode: str | None


@dataclass
class _Batch:
    """Runs that began together.

    Attributes:
        rounds: plays them.
        rows: which of its runs are still wanted.
        envs: the environments that they are.
    """

    rounds: Rounds
    rows: IntArray
    envs: IntArray


class VectorPlay(VectorEnv):  # generic only from Gymnasium 1.0 on
    """`num_envs` runs of a world, as a Gymnasium `VectorEnv` without a Python loop over runs.

    With `reset(seed=s)`, run r faces the losses of run r of `simulate(..., seed=s, num_runs=num_envs)`; with
    a list of seeds, those of run 0 of the r-th seed. Observations, actions and infos are those of
    `SinglePlay`, runs first. All runs end together, unless only some of them were reset.

    Args:
        world: a stream or a game.
        num_envs: runs.
        player: the agent's seat in a game.
        opponents: as in `SinglePlay`.
        horizon: rounds in an episode; `max_cycles` is PettingZoo's name for it.
        action_mode: how actions become policies.
        logit_scale: of action_mode "softmax".
        feedback: "full" or "bandit".
        horizon_ends: whether the last round is "terminated" or "truncated" (`regret_envs.envs.episodes`).
        autoreset_mode: "NextStep" (Gymnasium's default: the step after the last one resets), "SameStep" (the
            last step returns the next episode's first observation, and its own in `infos["final_obs"]`) or
            "Disabled" (the caller resets), in any spelling, or a `gymnasium.vector.AutoresetMode`. TorchRL
            wants "Disabled".
        render_mode: None; a batch is not drawn.

    Attributes:
        horizon, action_mode, logit_scale, feedback: as given.

    Raises:
        UnknownNameError: for an unknown mode, feedback or opponent; lists the near ones.
        ValueError: if a number is out of range, there are not as many opponents as other seats, or there is
            a render mode.
    """

    def __init__(
        self,
        world: World,
        *,
        num_envs: int,
        player: int = 0,
        opponents: Opponents = (),
        horizon: int | None = None,
        max_cycles: int | None = None,
        action_mode: ActionMode = "softmax",
        logit_scale: float = 10.0,
        feedback: FeedbackMode = "full",
        horizon_ends: HorizonEnds = "terminated",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            raise ValueError(
                f"a batch is not drawn, so render_mode must be None, got {render_mode!r}: "
                'gymnasium.make_vec(..., vectorization_mode="sync") makes environments that are'
            )
        self.num_envs = at_least("num_envs", num_envs, 1)
        self.horizon = episode_length(horizon, max_cycles)
        self._terminates = terminates(horizon_ends)
        self.action_mode, self.logit_scale, self.feedback = action_mode, logit_scale, feedback
        self._make_rounds = functools.partial(
            single_player_rounds,
            world,
            player,
            opponents,
            action_mode=action_mode,
            logit_scale=logit_scale,
            feedback=feedback,
        )
        rounds = self._make_rounds()
        self._player = player
        self._num_actions = rounds.num_actions[player]
        self.single_observation_space = rounds.observation_spaces[player]
        self.single_action_space = rounds.action_maps[player].space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        if isinstance(autoreset_mode, str):
            modes = {_letters(mode.value): mode for mode in AutoresetMode}
            autoreset_mode = modes.get(_letters(autoreset_mode)) or lookup(
                "autoreset_mode", autoreset_mode, {mode.value: mode for mode in AutoresetMode}
            )
        self.autoreset_mode = autoreset_mode
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": []}
        self.render_mode = None
        self._everywhere = np.arange(self.num_envs)
        # Several after some of the runs were reset alone; each keeps playing the runs that it began with.
        self._batches = [_Batch(rounds, self._everywhere, self._everywhere)]
        self._begun = False
        self._over = np.zeros(self.num_envs, dtype=bool)
        self._all = np.ones(self.num_envs, dtype=bool)

    def action_masks(self) -> BoolBatch:
        """Which pure actions can be played, all of them: (num_actions,), for one run."""
        return np.ones(self._num_actions, dtype=bool)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """The attribute of every run, `num_envs` times the same; spaces are those of one run.

        Raises:
            AttributeError: if there is none.
        """
        name = f"single_{name}" if name in ("observation_space", "action_space") else name
        return (getattr(self, name),) * self.num_envs

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What the method of every run returns, or the attribute; `num_envs` times the same.

        Raises:
            AttributeError: if there is none, or it is a method of the whole batch.
        """
        if name in ("reset", "step", "render", "close"):
            raise AttributeError(f"{name} is for all runs of a batch at once: call env.{name}(...)")
        value = self.get_attr(name)
        return (value[0](*args, **kwargs),) * self.num_envs if callable(value[0]) else value

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of all runs, such as `horizon`, which holds from the next reset on.

        Args:
            name: the attribute.
            values: one value, or a list or tuple of `num_envs` equal ones.

        Raises:
            ValueError: if the values differ, or are not as many as runs.
        """
        if isinstance(values, (list, tuple)):
            if len(values) != self.num_envs or any(value != values[0] for value in values):
                raise ValueError(
                    f"the {self.num_envs} runs of a batch share their settings: give one value of {name}, or "
                    f"as many equal ones, got {values!r}"
                )
            values = values[0]
        setattr(self, name, values)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode of every run, or of some.

        Args:
            seed: as above; None draws the episode's seed from the last seed given, if there was one. With a
                list of seeds, what the runs share (an opponent's own randomness) follows the first.
            options: `reset_mask`, as Gymnasium and TorchRL give it, bool (num_envs,): the runs to reset. Only
                under autoreset mode "Disabled" can these be some and not all; run numbers then count these.

        Returns:
            The observations of all runs, and infos.

        Raises:
            ValueError: if only some runs are to be reset in another mode, none are, the mask or list has
                another length than the batch, the world cannot last that long, or a seed is negative.
            TypeError: if a seed is not an integer (NumPy's are).
        """
        envs = self._to_reset((options or {}).get("reset_mask"))
        seeds = self._seeds(seed, envs)
        self.horizon = at_least("horizon", self.horizon, 1)
        partial = len(envs) < self.num_envs
        rounds = self._make_rounds() if partial else self._batches[0].rounds
        kept = [_without(batch, envs) for batch in self._batches] if partial else []
        self._begun = partial
        rounds.start(horizon=self.horizon, seeds=seeds)
        self._begun = True
        self._batches = [batch for batch in kept if len(batch.envs)]
        self._batches.append(_Batch(rounds, np.arange(len(envs)), envs))
        self._over[envs] = False
        return self._observations(), self._infos()

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float32], FloatBatch, BoolBatch, BoolBatch, dict[str, Any]]:
        """Play a round of every run.

        Args:
            actions: (num_envs, num_actions), or int (num_envs,) where actions are discrete.

        Returns:
            Observations (num_envs, 1 + 3 · num_actions), rewards (num_envs,), terminations and truncations
            (one of them True in a run's last round, as `horizon_ends` says) and infos, one array per key.

        Raises:
            EpisodeError: before `reset`, and after the last round where autoreset is disabled.
            ActionError: if an action cannot be played; names the run. The round has not been played then.
        """
        if not self._begun:
            raise EpisodeError("the episode is not begun: call reset()")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._over.any():
            runs = np.flatnonzero(self._over).tolist()
            raise EpisodeError(f"the episode is over in runs {runs}: call reset(), of these at least")
        nowhere = np.zeros(self.num_envs, dtype=bool)
        if self._over[0] and self.autoreset_mode is AutoresetMode.NEXT_STEP:
            observations, infos = self.reset()
            return observations, np.zeros(self.num_envs), nowhere, nowhere.copy(), infos
        if np.shape(actions)[:1] != (self.num_envs,):
            raise ActionError(
                f"the actions have shape {np.shape(actions)}: the first axis is that of the "
                f"{self.num_envs} environments"
            )
        self._play(actions)
        for batch in self._batches:
            self._over[batch.envs] = batch.rounds.t == batch.rounds.horizon
        over = self._over.copy()
        rewards = self._merged([batch.rounds.groups[0].record.rewards for batch in self._batches])
        observations, infos = self._observations(), self._infos()
        if over.any() and self.autoreset_mode is AutoresetMode.SAME_STEP:
            final: dict[str, Any] = {"final_obs": observations, "final_info": infos}
            final |= {"_final_obs": self._all.copy(), "_final_info": self._all.copy()}
            observations, infos = self.reset()
            infos |= final
        return observations, rewards, *((over, nowhere) if self._terminates else (nowhere, over)), infos

    def _play(self, actions: npt.ArrayLike) -> None:
        """Play a round of every batch; the runs that it has lost go on with any action."""
        if len(self._batches) == 1:
            self._batches[0].rounds.step([actions], ["the agent"])
            return
        given = np.asarray(actions)
        # An action that cannot be played is found before any batch has played.
        self._batches[0].rounds.action_maps[self._player](given, who="the agent")
        for batch in self._batches:
            shape = (batch.rounds.num_runs, *given.shape[1:])
            padded = np.full(shape, 0 if given.ndim == 1 else 1 / self._num_actions, dtype=given.dtype)
            padded[batch.rows] = given[batch.envs]
            batch.rounds.step([padded], ["the agent"])

    def _to_reset(self, mask: BoolBatch | None) -> IntArray:
        if mask is None or np.all(mask):
            return self._everywhere
        if np.shape(mask) != (self.num_envs,) or not np.any(mask):
            raise ValueError(f"reset_mask must say of {self.num_envs} runs which to reset, got {mask!r}")
        if self.autoreset_mode is not AutoresetMode.DISABLED or not self._begun:
            raise ValueError(
                "the runs of a batch begin together: reset all of them, or make it with "
                'autoreset_mode="Disabled" to reset some after that'
            )
        return np.flatnonzero(mask)

    def _seeds(self, seed: int | Sequence[int] | None, envs: IntArray) -> RunSeeds:
        if isinstance(seed, (Sequence, np.ndarray)):
            if len(seed) != self.num_envs:
                raise ValueError(f"{len(seed)} seeds for {self.num_envs} environments: give one for each")
            listed = tuple(at_least("seed", seed[n], 0) for n in envs)
            self._np_random = np.random.default_rng(listed)
            return ListedSeeds(listed[0], len(envs), seeds=listed)
        if seed is not None:
            seed = at_least("seed", seed, 0)
            self._np_random, self._np_random_seed = np.random.default_rng(seed), seed
        return RunSeeds(int(self.np_random.integers(2**63)) if seed is None else seed, len(envs))

    def _merged(self, parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """The batches' arrays as one, runs first."""
        if len(parts) == 1:
            return parts[0]
        merged = np.empty((self.num_envs, *parts[0].shape[1:]), dtype=parts[0].dtype)
        for batch, part in zip(self._batches, parts, strict=True):
            merged[batch.envs] = part[batch.rows]
        return merged

    def _observations(self) -> npt.NDArray[np.float32]:
        return self._merged([batch.rounds.groups[0].observer.observations() for batch in self._batches])

    def _infos(self) -> dict[str, Any]:
        """The round's infos; beside each, as Gymnasium has it, which runs have one: all."""
        batches = [batch.rounds.groups[0].record.info() for batch in self._batches]
        infos: dict[str, Any] = {}
        for key, value in batches[0].items():
            infos[key] = value if len(batches) == 1 else self._merged([info[key] for info in batches])
            infos[f"_{key}"] = self._all.copy()
        return infos


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _without(batch: _Batch, envs: IntArray) -> _Batch:
    left = ~np.isin(batch.envs, envs)
    return _Batch(batch.rounds, batch.rows[left], batch.envs[left])
