"""In-context policy evaluation as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from regret_envs.envs.actions import ActionError
from regret_envs.envs.episodes import EpisodeError
from regret_envs.rooms.policy_evaluation.markov import FeatureLaw, boyan_chains
from regret_envs.validation import at_least


class PolicyEvaluationEnv(gymnasium.Env[npt.NDArray[np.float32], npt.NDArray[np.float32]]):
    """Estimate the value of every state of a fresh Markov reward process as its trajectory goes by.

    Every episode draws a process (`markov.boyan_chains`) and a trajectory S_0, R_1, S_1, …, S_n
    of it. `problems.predict` is the same problem for agents of the suite.

    **Observation**, float32: `[:-1]` the features x(S_k), `[-1]` the reward R_k (0 for k = 0).
    **Action**: Box of one number, the estimate v̂ of v(S_k).
    **Reward**: −(v̂ − v(S_k))².
    **Info**, about the state just shown: `value` v(S_k); `certainty_equivalence`, what the transitions so far
    make of it in the certainty-equivalence sense; and `floor`, that predictor's squared error. Regret is the
    sum of −reward − floor.
    The episode is truncated after n estimates, never terminated.

    Args:
        num_states: of the process.
        features: "random" or "one_hot".
        num_features: of random features.
        discount: γ.
        horizon: n, estimates in an episode.
        render_mode: None: there is nothing to draw.

    Raises:
        UnknownNameError: for an unknown law of features; lists the near ones.
        ValueError: if γ is outside [0, 1), a number is too small or there is a render mode.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        *,
        num_states: int = 5,
        features: FeatureLaw = "random",
        num_features: int = 5,
        discount: float = 0.5,
        horizon: int = 100,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            raise ValueError(f"there is nothing to render: render_mode must be None, got {render_mode!r}")
        self._settings: dict[str, Any] = {
            "num_states": num_states,
            "features": features,
            "num_features": num_features,
            "discount": discount,
        }
        # Checks the settings.
        process = boyan_chains(1, rng=np.random.default_rng(0), **self._settings)
        self._horizon = at_least("horizon", horizon, 1)
        self.render_mode = render_mode
        self.observation_space = Box(-1.0, 1.0, (process.features.shape[2] + 1,), np.float32)
        largest = 1 / (1 - process.discount)
        self.action_space = Box(-largest, largest, (1,), np.float32)
        self._k: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, float]]:
        """Draw a process and a trajectory, and show S_0. `options` has no keys.

        Raises:
            ValueError: if `options` has any.
        """
        super().reset(seed=seed)
        if options:
            raise ValueError(f"reset takes no options, got {sorted(options)}")
        process = boyan_chains(1, rng=self.np_random, **self._settings)
        trajectory = process.sample(self._horizon, rng=self.np_random)
        context = trajectory.context
        rewards = np.concatenate([[0.0], context.rewards[0]])
        self._shown = np.column_stack([context.features[0], rewards]).astype(np.float32)
        self._values = trajectory.values[0]
        self._certainty_equivalence = trajectory.online_certainty_equivalence[0]
        self._k = 0
        return self._shown[0].copy(), self._info(0)

    def step(
        self, action: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, float]]:
        """Take an estimate of the value of the state shown, and show the next.

        Returns:
            The observation, the reward, terminated (False), truncated (True after the last estimate), the
            info.

        Raises:
            EpisodeError: before `reset` and after the last estimate.
            ActionError: if the action is not one finite number; nothing has happened then.
        """
        if self._k is None:
            raise EpisodeError("the episode is over or not begun: call reset()")
        try:
            estimate = float(np.asarray(action, dtype=np.float64).reshape(()))
        except (TypeError, ValueError):
            estimate = np.nan
        if not np.isfinite(estimate):
            raise ActionError(f"the action must be one finite number, the value of the state, got {action!r}")
        k = self._k
        reward = -float((estimate - self._values[k]) ** 2)
        truncated = k + 1 == self._horizon
        self._k = None if truncated else k + 1
        return self._shown[k + 1].copy(), reward, False, truncated, self._info(k + 1)

    def _info(self, k: int) -> dict[str, float]:
        value, estimate = float(self._values[k]), float(self._certainty_equivalence[k])
        return {"value": value, "certainty_equivalence": estimate, "floor": (estimate - value) ** 2}
