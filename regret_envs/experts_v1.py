"""Agents facing one loss stream: prediction with expert advice.

Options, observations, action modes and infos: `regret_envs.envs.parallel.ParallelPlay` (PettingZoo),
`regret_envs.envs.single.SinglePlay` (Gymnasium), `regret_envs.envs.vector.VectorPlay` (vectorized).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from regret_envs import streams
from regret_envs.envs import check_options
from regret_envs.envs.aec import SequentialPlay
from regret_envs.envs.parallel import ParallelOptions, ParallelPlay
from regret_envs.envs.single import SingleOptions, SinglePlay
from regret_envs.envs.vector import VectorOptions, VectorPlay
from regret_envs.worlds import World


def parallel_env(
    *,
    num_agents: int = 2,
    num_actions: int | None = None,
    stream: World | str = "gaussian",
    stream_settings: Mapping[str, Any] | None = None,
    **options: Unpack[ParallelOptions],
) -> ParallelPlay:
    """A PettingZoo parallel environment in which all agents face the same losses.

    Args:
        num_agents: agents. An adversary, which reacts to play, takes one.
        num_actions: d, of a stream given by name; None: the stream's own default.
        stream: a stream, or a name for `regret_envs.streams.make`; i.i.d. Gaussian losses by default.
        stream_settings: the named stream's other settings, e.g. `{"scale": 0.5}`.
        options: see `ParallelPlay`.

    Raises:
        TypeError: for an unknown option (lists the near ones) or an unknown setting of the stream.
        UnknownNameError: if there is no such stream; lists the near ones.
        ValueError: if settings are given for a stream that is not a name, and as in `ParallelPlay`.
    """
    check_options(parallel_env, options, ParallelOptions)
    world = _stream(stream, num_actions, stream_settings)
    return ParallelPlay(world, num_agents=num_agents, name="experts_v1", **options)


def env(**options: Any) -> SequentialPlay:
    """The same as a PettingZoo AEC environment; settings and errors as in `parallel_env`."""
    return SequentialPlay(parallel_env(**options))


raw_env = env


class SingleEnv(SinglePlay):
    """A Gymnasium environment: one agent against the stream; settings as in `parallel_env`."""

    def __init__(
        self,
        *,
        num_actions: int | None = None,
        stream: World | str = "gaussian",
        stream_settings: Mapping[str, Any] | None = None,
        **options: Unpack[SingleOptions],
    ) -> None:
        check_options(SingleEnv, options, SingleOptions)
        super().__init__(_stream(stream, num_actions, stream_settings), **options)


def vector_env(
    num_envs: int = 1,
    *,
    num_actions: int | None = None,
    stream: World | str = "gaussian",
    stream_settings: Mapping[str, Any] | None = None,
    **options: Unpack[VectorOptions],
) -> VectorPlay:
    """`num_envs` runs of `SingleEnv` at once; settings as there."""
    check_options(vector_env, options, VectorOptions)
    return VectorPlay(_stream(stream, num_actions, stream_settings), num_envs=num_envs, **options)


def _stream(stream: World | str, num_actions: int | None, settings: Mapping[str, Any] | None) -> World:
    given = dict(settings or {})
    if num_actions is not None:
        given["num_actions"] = num_actions
    if isinstance(stream, str):
        return streams.make(stream, **given)
    if given:
        raise ValueError(f"{', '.join(given)} is for a stream given by name, not for {stream!r}")
    return stream
