"""Any normal-form game of any number of players, repeated.

Options, observations, action modes and infos: `regret_envs.envs.parallel.ParallelPlay` (PettingZoo),
`regret_envs.envs.single.SinglePlay` (Gymnasium), `regret_envs.envs.vector.VectorPlay` (vectorized).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from regret_envs.envs import check_options
from regret_envs.envs.aec import SequentialPlay
from regret_envs.envs.parallel import ParallelOptions, ParallelPlay
from regret_envs.envs.single import Opponents, SingleOptions, SinglePlay
from regret_envs.envs.vector import VectorOptions, VectorPlay
from regret_envs.games import Game, make


def parallel_env(
    *,
    game: Game | str = "rock_paper_scissors",
    game_settings: Mapping[str, Any] | None = None,
    **options: Unpack[ParallelOptions],
) -> ParallelPlay:
    """A PettingZoo parallel environment.

    Args:
        game: a game, or the name of one of `regret_envs.games.NAMED_GAMES`.
        game_settings: the named game's settings, e.g. `{"weights": (1, 2, 3)}`.
        options: see `ParallelPlay`.

    Raises:
        TypeError: for an unknown option (lists the near ones) or an unknown setting of the game.
        UnknownNameError: if there is no such game; lists the near ones.
        ValueError: if settings are given for a game that is not a name, and as in `ParallelPlay`.
    """
    check_options(parallel_env, options, ParallelOptions)
    made = _game(game, game_settings)
    return ParallelPlay(made, num_agents=made.num_players, name="repeated_game_v1", **options)


def env(**options: Any) -> SequentialPlay:
    """The same as a PettingZoo AEC environment; settings and errors as in `parallel_env`."""
    return SequentialPlay(parallel_env(**options))


raw_env = env


class SingleEnv(SinglePlay):
    """A Gymnasium environment: one agent against agents of the suite; settings as in `parallel_env`.

    Args:
        player: the agent's seat.
        opponents: an agent for all other seats, or one for each.
    """

    def __init__(
        self,
        *,
        game: Game | str = "rock_paper_scissors",
        game_settings: Mapping[str, Any] | None = None,
        player: int = 0,
        opponents: Opponents = "hedge",
        **options: Unpack[SingleOptions],
    ) -> None:
        check_options(SingleEnv, options, SingleOptions)
        super().__init__(_game(game, game_settings), player=player, opponents=opponents, **options)


def vector_env(
    num_envs: int = 1,
    *,
    game: Game | str = "rock_paper_scissors",
    game_settings: Mapping[str, Any] | None = None,
    player: int = 0,
    opponents: Opponents = "hedge",
    **options: Unpack[VectorOptions],
) -> VectorPlay:
    """`num_envs` runs of `SingleEnv` at once; settings as there."""
    check_options(vector_env, options, VectorOptions)
    made = _game(game, game_settings)
    return VectorPlay(made, num_envs=num_envs, player=player, opponents=opponents, **options)


def _game(game: Game | str, settings: Mapping[str, Any] | None) -> Game:
    if isinstance(game, str):
        return make(game, **(settings or {}))
    if settings:
        raise ValueError(f"game_settings are for a game given by name, not for {game!r}")
    return game
