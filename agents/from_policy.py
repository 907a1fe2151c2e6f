"""Policies trained in the environments, as agents of the suite.

A policy acts on the observations of `regret_envs.envs.observations`; here they are rebuilt from what an
agent is shown, so that on the leaderboard a policy sees the same observations as in training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from os import PathLike
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from regret_envs.agents.base import Agent
from regret_envs.arrays import FloatArray
from regret_envs.envs.actions import ActionError, ActionMap, ActionMode
from regret_envs.envs.observations import Observer
from regret_envs.envs.rounds import FeedbackMode
from regret_envs.feedback import Takes
from regret_envs.metrics import off_simplex
from regret_envs.names import lookup

Observations = npt.NDArray[np.float32]
JointPolicy = Callable[[Mapping[str, Observations]], Mapping[str, Any]]


@dataclass(eq=False, repr=False)
class PolicyAgent(Agent):
    """An agent that plays a policy; `from_policy`, `from_pettingzoo` and `from_sb3` make them.

    The horizon must be known, since observations contain t/T. If losses are shown before round 1, time
    starts there and stops at 1. Under bandit feedback the policy sees the loss of the drawn action, as in the
    environments, and not the estimate that other agents are shown.

    Args:
        policy: from observations (num_runs, 1 + 3d), float32, to actions (num_runs, d), or int (num_runs,)
            where the mode is "discrete". A policy with a memory has a method `reset(num_runs)`, which is
            called before every episode.
        action_mode: how actions become policies; the one trained with. None: that of the environments where
            none is given, "softmax"; a policy that returns distributions then is an error.
        logit_scale: of action_mode "softmax".
        num_actions: d, if the policy is made for a single d; for others the agent is n/a.
        feedback: the feedback trained with, "full" or "bandit": under the other one, whose observations it
            has not seen, the agent is n/a. None: it plays under both.
        name: the agent's name in errors and tables.
        depends_on: the files that the policy was read from, as in `Agent`.
    """

    policy: Callable[[Observations], npt.ArrayLike]
    _: KW_ONLY
    action_mode: ActionMode | None = None
    logit_scale: float = 10.0
    num_actions: int | None = None
    feedback: FeedbackMode | None = None
    name: str = "policy"
    depends_on: Sequence[str | PathLike[str]] = ()

    takes_drawn_losses = True

    def __post_init__(self) -> None:
        if not callable(self.policy):
            raise TypeError(f"policy must be a function of observations, got {self.policy!r}")
        self._mode: ActionMode = self.action_mode or "softmax"
        ActionMap(self.num_actions or 1, self._mode, logit_scale=self.logit_scale)
        if self.feedback is not None:
            lookup("feedback", self.feedback, dict.fromkeys(get_args(FeedbackMode)))
        self.takes: Takes = self.feedback or "any"

    def __repr__(self) -> str:
        return f"<{self.name}, action_mode={self._mode!r}>"

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
        self._map = ActionMap(num_actions, self._mode, logit_scale=self.logit_scale)
        self._observer = Observer(num_actions, horizon=horizon, num_runs=num_runs)
        if hasattr(self.policy, "reset"):
            self.policy.reset(num_runs)
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)

    def act(self) -> FloatArray:
        """The policies that the actions mean.

        Raises:
            ActionError: if the policy's actions cannot be played, or are distributions and no action
                mode says so.
        """
        actions = np.asarray(self.policy(self._observer.observations()))
        policies = self._map(actions, who=self.name)
        if self.action_mode is None and not off_simplex(actions).any():
            raise ActionError(
                f"{self.name} returns distributions, and the environments' default, action_mode='softmax', "
                "takes logits: give action_mode='strict' or 'normalize', or 'softmax' if logits they are"
            )
        self.remember(policies)
        return policies

    def observe(self, losses: FloatArray) -> None:
        """Add the round to the observations; losses that are not shown are NaN."""
        hidden = np.isnan(losses)
        if hidden.any():
            self._observer.update(self.recall(), np.where(hidden, 0.0, losses), 1.0 - hidden)
        else:
            self._observer.update(self.recall(), losses.copy())


def from_policy(
    policy: Callable[[Observations], npt.ArrayLike],
    *,
    action_mode: ActionMode | None = None,
    logit_scale: float = 10.0,
    num_actions: int | None = None,
    feedback: FeedbackMode | None = None,
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
        feedback=feedback,
        name=getattr(policy, "__name__", type(policy).__name__),
        depends_on=depends_on,
    )


def from_pettingzoo(
    act: JointPolicy,
    player: str = "player_0",
    *,
    action_mode: ActionMode | None = None,
    logit_scale: float = 10.0,
    num_actions: int | None = None,
    feedback: FeedbackMode | None = None,
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
        feedback=feedback,
        name=player,
        depends_on=depends_on,
    )


# Not a closure, so that the agents can be pickled.
def _act_run_by_run(act: JointPolicy, player: str, observations: Observations) -> npt.ArrayLike:
    return [act({player: observation})[player] for observation in observations]
