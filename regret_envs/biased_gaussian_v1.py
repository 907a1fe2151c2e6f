"""Agents facing Gaussian losses with a bias that every episode draws anew (`streams.BiasedGaussian`).

Options, observations, action modes and infos: `regret_envs.envs.parallel.ParallelPlay` (PettingZoo),
`regret_envs.envs.single.SinglePlay` (Gymnasium), `regret_envs.envs.vector.VectorPlay` (vectorized).
"""

from __future__ import annotations

from typing import Any, Unpack

from regret_envs.envs import check_options
from regret_envs.envs.aec import SequentialPlay
from regret_envs.envs.parallel import ParallelOptions, ParallelPlay
from regret_envs.envs.single import SingleOptions, SinglePlay
from regret_envs.envs.vector import VectorOptions, VectorPlay
from regret_envs.streams import BiasedGaussian
from regret_envs.streams.stochastic import BiasLaw


def parallel_env(
    *,
    num_agents: int = 2,
    num_actions: int = 3,
    bias_scale: float = 0.35,
    bias_law: BiasLaw = "gaussian",
    noise_scale: float = 1.0,
    **options: Unpack[ParallelOptions],
) -> ParallelPlay:
    """A PettingZoo parallel environment in which all agents face the same losses.

    Args:
        num_agents: agents.
        num_actions: d.
        bias_scale: standard deviation of the bias of each action.
        bias_law: "gaussian" or "uniform".
        noise_scale: standard deviation of the noise of each round.
        options: see `ParallelPlay`.

    Raises:
        TypeError: for an unknown option; lists the near ones.
        ValueError: for a number out of range, and as in `ParallelPlay`.
    """
    check_options(parallel_env, options, ParallelOptions)
    stream = BiasedGaussian(num_actions, bias_scale=bias_scale, bias_law=bias_law, noise_scale=noise_scale)
    return ParallelPlay(stream, num_agents=num_agents, name="biased_gaussian_v1", **options)


def env(**options: Any) -> SequentialPlay:
    """The same as a PettingZoo AEC environment; settings and errors as in `parallel_env`."""
    return SequentialPlay(parallel_env(**options))


raw_env = env


class SingleEnv(SinglePlay):
    """A Gymnasium environment: one agent against the stream; settings as in `parallel_env`."""

    def __init__(
        self,
        *,
        num_actions: int = 3,
        bias_scale: float = 0.35,
        bias_law: BiasLaw = "gaussian",
        noise_scale: float = 1.0,
        **options: Unpack[SingleOptions],
    ) -> None:
        check_options(SingleEnv, options, SingleOptions)
        stream = BiasedGaussian(
            num_actions, bias_scale=bias_scale, bias_law=bias_law, noise_scale=noise_scale
        )
        super().__init__(stream, **options)


def vector_env(
    num_envs: int = 1,
    *,
    num_actions: int = 3,
    bias_scale: float = 0.35,
    bias_law: BiasLaw = "gaussian",
    noise_scale: float = 1.0,
    **options: Unpack[VectorOptions],
) -> VectorPlay:
    """`num_envs` runs of `SingleEnv` at once; settings as there."""
    check_options(vector_env, options, VectorOptions)
    stream = BiasedGaussian(num_actions, bias_scale=bias_scale, bias_law=bias_law, noise_scale=noise_scale)
    return VectorPlay(stream, num_envs=num_envs, **options)
