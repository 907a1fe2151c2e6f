"""Policies trained in the environments, as agents of the suite.

A policy acts on the observations of `regret_envs.envs.observations`; here they are rebuilt from what an
agent is shown, so that on the leaderboard a policy sees the same observations as in training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from os import PathLike
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from regret_envs.agents.base import Agent
from regret_envs.arrays import FloatArray
from regret_envs.envs.actions import ActionMap, ActionMode
from regret_envs.envs.observations import Observer

Observations = npt.NDArray[np.float32]
JointPolicy = Callable[[Mapping[str, Observations]], Mapping[str, Any]]


@dataclass(eq=False, repr=False)
class PolicyAgent(Agent):
    """An agent that plays a policy; `from_policy`, `from_sb3` and `from_pettingzoo` make them.

    The horizon must be known, since observations contain t/T. If losses are shown before round 1, time
    starts there and stops at 1. Behind a feedback layer the policy sees the layer's estimates as losses.

    Args:
        policy: from observations (num_runs, 1 + 3d), float32, to actions (num_runs, d), or int (num_runs,)
            where the mode is "discrete".
        action_mode: how actions become policies; the one trained with.
        logit_scale: of action_mode "softmax".
        num_actions: d, if the policy is made for a single d; for others the agent is n/a.
        name: the agent's name in errors and tables.
        depends_on: the files that the policy was read from, as in `Agent`.
    """

    policy: Callable[[Observations], npt.ArrayLike]
    _: KW_ONLY
    action_mode: ActionMode = "normalize"
    logit_scale: float = 10.0
    num_actions: int | None = None
    name: str = "policy"
    depends_on: Sequence[str | PathLike[str]] = ()

    def __post_init__(self) -> None:
        if not callable(self.policy):
            raise TypeError(f"policy must be a function of observations, got {self.policy!r}")
        ActionMap(self.num_actions or 1, self.action_mode, logit_scale=self.logit_scale)

    def __repr__(self) -> str:
        return f"<{self.name}, action_mode={self.action_mode!r}>"

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """Why not: another number of actions, or an unknown horizon."""
        if self.num_actions not in (None, num_actions):
            return f"{self.name} was trained with {self.num_actions} actions"
        return "observations contain t/T, and the horizon is unknown" if horizon is None else None

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin with the first observation of an episode.

        Raises:
            ValueError: where `unsupported` gives a reason.
        """
        reason = self.unsupported(num_actions, horizon=horizon)
        if reason is not None or horizon is None:
            raise ValueError(f"{self!r} cannot play: {reason}")
        self._map = ActionMap(num_actions, self.action_mode, logit_scale=self.logit_scale)
        self._observer = Observer(num_actions, horizon=horizon, num_runs=num_runs)
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)

    def act(self) -> FloatArray:
        """The policies that the actions mean.

        Raises:
            ActionError: if the policy's actions cannot be played.
        """
        policies = self._map(self.policy(self._observer.observations()), who=self.name)
        self.remember(policies)
        return policies

    def observe(self, losses: FloatArray) -> None:
        """Add the round to the observations."""
        self._observer.update(self.recall(), losses.copy())


def from_policy(
    policy: Callable[[Observations], npt.ArrayLike],
    *,
    action_mode: ActionMode = "normalize",
    logit_scale: float = 10.0,
    num_actions: int | None = None,
    depends_on: Sequence[str | PathLike[str]] = (),
) -> PolicyAgent:
    """An agent from any function that maps a batch of observations to a batch of actions.

    Arguments and errors as in `PolicyAgent`.
    """
    return PolicyAgent(
        policy,
        action_mode=action_mode,
        logit_scale=logit_scale,
        num_actions=num_actions,
        name=getattr(policy, "__name__", type(policy).__name__),
        depends_on=depends_on,
    )


class SB3Model(Protocol):
    """The part of a Stable-Baselines3 algorithm that is used."""

    action_space: Any

    def predict(self, observation: Observations, *, deterministic: bool) -> tuple[npt.NDArray[Any], Any]:
        """Actions of a batch of observations, and a recurrent state."""
        ...


def from_sb3(
    model: SB3Model, *, logit_scale: float = 10.0, depends_on: Sequence[str | PathLike[str]] = ()
) -> PolicyAgent:
    """An agent from a trained Stable-Baselines3 model; it plays the model's deterministic actions.

    The model's action space determines how actions become policies; actions in [0, 1]^d are normalized (for
    a model trained with action_mode "project", use `from_policy`).

    Args:
        model: PPO, SAC, DQN, … trained on an environment of the suite.
        logit_scale: the one trained with, where actions are logits.
        depends_on: the files that the model was read from, as in `Agent`.
    """
    space = model.action_space
    discrete = not space.shape
    mode: ActionMode = "normalize"
    if discrete or space.low.min() < 0:
        mode = "discrete" if discrete else "softmax"
    return PolicyAgent(
        partial(_predict, model),
        action_mode=mode,
        logit_scale=logit_scale,
        num_actions=int(space.n) if discrete else space.shape[0],
        name=type(model).__name__,
        depends_on=depends_on,
    )


def from_pettingzoo(
    act: JointPolicy,
    player: str = "player_0",
    *,
    action_mode: ActionMode = "normalize",
    logit_scale: float = 10.0,
    num_actions: int | None = None,
    depends_on: Sequence[str | PathLike[str]] = (),
) -> PolicyAgent:
    """An agent from a joint policy, a function that maps `{player: observation}` to `{player: action}`.

    It is called once per run, with only the observation of `player`.

    Args:
        act: the joint policy.
        player: the player whose action is played.
        action_mode: as in `PolicyAgent`, like the rest.
    """
    return PolicyAgent(
        partial(_act_run_by_run, act, player),
        action_mode=action_mode,
        logit_scale=logit_scale,
        num_actions=num_actions,
        name=player,
        depends_on=depends_on,
    )


# Not closures, so that the agents can be pickled.
def _predict(model: SB3Model, observations: Observations) -> npt.NDArray[Any]:
    return model.predict(observations, deterministic=True)[0]


def _act_run_by_run(act: JointPolicy, player: str, observations: Observations) -> npt.ArrayLike:
    return [act({player: observation})[player] for observation in observations]
