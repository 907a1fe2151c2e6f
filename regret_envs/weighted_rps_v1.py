"""Weighted rock–paper–scissors, two players (`regret_envs.games.weighted_rps`).

Options, observations, action modes and infos: `regret_envs.envs.parallel.ParallelPlay` (PettingZoo),
`regret_envs.envs.single.SinglePlay` (Gymnasium), `regret_envs.envs.vector.VectorPlay` (vectorized).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from regret_envs.envs import check_options
from regret_envs.envs.aec import SequentialPlay
from regret_envs.envs.parallel import ParallelOptions, ParallelPlay
from regret_envs.envs.single import Opponents, SingleOptions, SinglePlay
from regret_envs.envs.vector import VectorOptions, VectorPlay
from regret_envs.games import weighted_rps


def parallel_env(
    *, weights: Sequence[float] = (3, 2, 1), scale: float = 1 / 3, **options: Unpack[ParallelOptions]
) -> ParallelPlay:
    """A PettingZoo parallel environment.

    Args:
        weights: proportional to the equilibrium's probabilities of rock, paper and scissors.
        scale: of the payoffs.
        options: see `ParallelPlay`.

    Raises:
        TypeError: for an unknown option; lists the near ones.
        ValueError: for bad weights or a bad scale, and as in `ParallelPlay`.
    """
    check_options(parallel_env, options, ParallelOptions)
    return ParallelPlay(weighted_rps(weights, scale), num_agents=2, name="weighted_rps_v1", **options)


def env(**options: Any) -> SequentialPlay:
    """The same as a PettingZoo AEC environment; settings and errors as in `parallel_env`."""
    return SequentialPlay(parallel_env(**options))


raw_env = env


class SingleEnv(SinglePlay):
    """A Gymnasium environment: one agent against an agent of the suite; settings as in `parallel_env`.

    Args:
        player: the agent's seat, 0 or 1.
        opponents: the other player.
    """

    def __init__(
        self,
        *,
        weights: Sequence[float] = (3, 2, 1),
        scale: float = 1 / 3,
        player: int = 0,
        opponents: Opponents = "hedge",
        **options: Unpack[SingleOptions],
    ) -> None:
        check_options(SingleEnv, options, SingleOptions)
        super().__init__(weighted_rps(weights, scale), player=player, opponents=opponents, **options)


def vector_env(
    num_envs: int = 1,
    *,
    weights: Sequence[float] = (3, 2, 1),
    scale: float = 1 / 3,
    player: int = 0,
    opponents: Opponents = "hedge",
    **options: Unpack[VectorOptions],
) -> VectorPlay:
    """`num_envs` runs of `SingleEnv` at once; settings as there."""
    check_options(vector_env, options, VectorOptions)
    game = weighted_rps(weights, scale)
    return VectorPlay(game, num_envs=num_envs, player=player, opponents=opponents, **options)
