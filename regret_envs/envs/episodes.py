"""What all forms of the environments share about an episode: its length, its end, its seed and its spec."""

from __future__ import annotations

import dataclasses
import json
from typing import Literal, get_args

from gymnasium.envs.registration import EnvSpec

from regret_envs.names import lookup
from regret_envs.validation import at_least

DEFAULT_HORIZON = 100

HorizonEnds = Literal["terminated", "truncated"]
"""How the last round ends an episode: as a state without a future ("terminated"), or as one cut off.

The horizon is part of the problem and t/T is observed, so nothing lies beyond the last round. A learner that
is told of a truncation adds a value where 0 is right; docs/libraries.md has what that costs.
"""


class EpisodeError(RuntimeError):
    """`step`, `state` or `render` was called before `reset`, or `step` after the end of the episode."""


def episode_length(horizon: int | None, max_cycles: int | None) -> int:
    """The rounds in an episode; `max_cycles` is PettingZoo's name for `horizon`.

    Raises:
        TypeError: if it is not an integer (NumPy's are).
        ValueError: if both are given, or the number is below 1.
    """
    if horizon is not None and max_cycles is not None:
        raise ValueError("horizon and max_cycles are the same number: give one of them")
    given = horizon if max_cycles is None else max_cycles
    return at_least("horizon", DEFAULT_HORIZON if given is None else given, 1)


def terminates(horizon_ends: HorizonEnds) -> bool:
    """Whether the last round terminates the episode; otherwise it truncates it.

    Raises:
        UnknownNameError: for another word; lists the near ones.
    """
    lookup("horizon_ends", horizon_ends, dict.fromkeys(get_args(HorizonEnds)))
    return horizon_ends == "terminated"


class PlaySpec(EnvSpec):
    """The spec of an environment that was made: `max_episode_steps` is the horizon, and JSON leaves it out.

    Registered ids have no `max_episode_steps`, since Gymnasium would add a `TimeLimit` that truncates on top
    of the environment's own end. Wrappers and training scripts look for the number in the spec nevertheless.

    Args:
        spec: what Gymnasium made the environment from.
        horizon: rounds in an episode.
    """

    def __init__(self, spec: EnvSpec, horizon: int) -> None:
        given = {f.name: getattr(spec, f.name) for f in dataclasses.fields(spec) if f.init}
        super().__init__(**{**given, "max_episode_steps": horizon})

    def to_json(self) -> str:
        """As `EnvSpec.to_json`; an environment made from it has the same horizon and no `TimeLimit`.

        Raises:
            TypeError: if a setting is an object; says that names can be written.
        """
        for name, value in self.kwargs.items():
            try:
                json.dumps(value)
            except TypeError:
                raise TypeError(
                    f"{name}={value!r} cannot be written as JSON: make the environment with a name, as on "
                    'the command line (opponents="hedge[step_size=0.5]", game="shapley", stream="gaussian", '
                    "with game_settings= or stream_settings=)"
                ) from None
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}
        return EnvSpec(**{**given, "max_episode_steps": None}).to_json()
