"""Stable-Baselines3 models as agents of the suite, with what lay between the model and its environment."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from os import PathLike
from typing import Any, Protocol

import gymnasium
import numpy as np
import numpy.typing as npt

from regret_envs.agents.from_policy import Observations, PolicyAgent
from regret_envs.envs.actions import ActionMode
from regret_envs.envs.rounds import FeedbackMode
from regret_envs.envs.spaces import Simplex


class SB3Model(Protocol):
    """The part of a Stable-Baselines3 algorithm that is used; `get_env()` too, if it has one."""

    action_space: Any
    observation_space: Any

    def predict(
        self, observation: Observations, *, state: Any, episode_start: Any, deterministic: bool
    ) -> tuple[npt.NDArray[Any], Any]:
        """Actions of a batch of observations, and a recurrent state."""
        ...


class Normalizer(Protocol):
    """The part of a `VecNormalize` that is used."""

    obs_rms: Any

    def normalize_obs(self, obs: Any) -> Any:
        """The observations with mean 0 and variance 1."""
        ...


class _Policy:
    """What a model plays: its recurrent state and stacked frames are carried from round to round.

    Args:
        model: the model.
        normalizer: applied to the observations, or None.
        num_frames: how many observations are stacked, the newest last.
    """

    def __init__(self, model: SB3Model, normalizer: Normalizer | None, num_frames: int) -> None:
        self._model = model
        self._normalizer = normalizer
        self._num_frames = num_frames

    def reset(self, num_runs: int) -> None:
        """Forget the last episode."""
        self._state: Any = None
        self._starts = np.ones(num_runs, dtype=bool)
        self._frames: Observations | None = None

    def __call__(self, observations: Observations) -> npt.NDArray[Any]:
        """The model's deterministic actions."""
        seen = self._normalized(observations)
        if self._num_frames > 1:
            if self._frames is None:
                self._frames = np.zeros((len(seen), self._num_frames * seen.shape[1]), dtype=np.float32)
            self._frames = np.concatenate([self._frames[:, seen.shape[1] :], seen], axis=1)
            seen = self._normalized(self._frames)
        actions, self._state = self._model.predict(
            seen, state=self._state, episode_start=self._starts, deterministic=True
        )
        self._starts = np.zeros_like(self._starts)
        return actions

    def _normalized(self, observations: Observations) -> Observations:
        """Normalized where the normalizer has seen observations of this size: single ones or stacks."""
        if self._normalizer is None or self._normalizer.obs_rms.mean.shape != observations.shape[1:]:
            return observations
        return self._normalizer.normalize_obs(observations.copy())


def from_sb3(
    model: SB3Model,
    *,
    action_mode: ActionMode | None = None,
    logit_scale: float | None = None,
    feedback: FeedbackMode | None = None,
    vec_normalize: Normalizer | None = None,
    depends_on: Sequence[str | PathLike[str]] = (),
) -> PolicyAgent:
    """An agent from a trained Stable-Baselines3 model; it plays the model's deterministic actions.

    Observations are normalized and stacked as in training, and a recurrent model keeps its state. A model
    that still has its environment knows all arguments. A loaded one does not: give what differs from the
    defaults, and the `VecNormalize`, if there was one, which Stable-Baselines3 saves to a file of its own.

    Args:
        model: PPO, SAC, DQN, RecurrentPPO, … trained on an environment of the suite.
        action_mode: the one trained with. None: that of the model's environment, or what its action space
            says ("normalize" for [0, 1]^d, which "project" has too).
        logit_scale: the one trained with, where actions are logits; None: that of the environment, or 10.
        feedback: the one trained with; None: that of the environment, or both.
        vec_normalize: the normalization trained with; None: that of the model's environment, if any.
        depends_on: the files that the model was read from, as in `Agent`.

    Raises:
        ValueError: if something else changed the observations or actions of training, so that the agent would
            play another policy than the one trained; says what.
    """
    space = model.action_space
    discrete = not space.shape
    num_actions = int(space.n) if discrete else space.shape[0]
    environment = getattr(model, "get_env", lambda: None)()
    settings: dict[str, Any] = {}
    if environment is not None:
        layers, base = _layers(environment)
        settings = {name: _attribute(base, name) for name in ("action_mode", "logit_scale", "feedback")}
        vec_normalize = vec_normalize or next((layer for layer in layers if _is(layer, "VecNormalize")), None)
    size = 1 + 3 * num_actions
    num_frames, rest = divmod(model.observation_space.shape[0], size)
    if rest:
        raise ValueError(
            f"the model takes observations of {model.observation_space.shape[0]} numbers, and those of the "
            f"environments with {num_actions} actions have {size}: something changed them in training; use "
            "from_policy with a function that changes them in the same way"
        )
    if vec_normalize is not None and vec_normalize.obs_rms.mean.shape not in ((size,), (num_frames * size,)):
        raise ValueError(
            f"vec_normalize is for observations of {vec_normalize.obs_rms.mean.shape[0]} numbers"
        )
    mode: ActionMode = "discrete" if discrete else "strict" if isinstance(space, Simplex) else "normalize"
    if mode == "normalize" and space.low.min() < 0:
        mode = "softmax"
    return PolicyAgent(
        _Policy(model, copy.deepcopy(vec_normalize), num_frames),
        action_mode=action_mode or settings.get("action_mode") or mode,
        logit_scale=logit_scale or settings.get("logit_scale") or 10.0,
        num_actions=num_actions,
        feedback=feedback or settings.get("feedback"),
        name=type(model).__name__,
        depends_on=depends_on,
    )


# They change no observation, or what they change is known.
_TRANSPARENT = ("VecNormalize", "VecFrameStack", "VecMonitor", "VecCheckNan", "VecVideoRecorder")


def _layers(environment: Any) -> tuple[list[Any], Any]:
    """The wrappers around a `VecEnv` and the innermost one.

    Raises:
        ValueError: if one of them, or one of Gymnasium's, may change observations or actions.
    """
    layers = []
    while hasattr(environment, "venv") and not _is(environment, "SB3VecEnvWrapper"):  # SuperSuit's adapter
        if _is(environment, "VecEnvWrapper") and not any(_is(environment, name) for name in _TRANSPARENT):
            raise ValueError(_changed(type(environment).__name__))
        layers.append(environment)
        environment = environment.venv
    wrappers = [gymnasium.ObservationWrapper, gymnasium.ActionWrapper]
    for name in ("NormalizeObservation", "FrameStackObservation", "FrameStack", "StickyAction", "MaxAndSkip"):
        wrappers += [getattr(gymnasium.wrappers, name)] if hasattr(gymnasium.wrappers, name) else []
    for wrapper in wrappers:
        if any(environment.env_is_wrapped(wrapper)):
            raise ValueError(_changed(f"a {wrapper.__name__} of Gymnasium"))
    return layers, environment


def _changed(wrapper: str) -> str:
    return (
        f"the model was trained behind {wrapper}, which may change observations or actions: use from_policy "
        "with a function that does the same"
    )


def _is(thing: object, name: str) -> bool:
    """Whether it is of that class of Stable-Baselines3, which need not be imported."""
    return any(cls.__name__ == name for cls in type(thing).__mro__)


def _attribute(base: Any, name: str) -> Any:
    """The attribute of the environments, or None where none is found."""
    try:
        values = base.get_attr(name)
        return values[0] if isinstance(values, (list, tuple)) else None
    except Exception:  # what other packages' environments raise here is up to them
        return None
