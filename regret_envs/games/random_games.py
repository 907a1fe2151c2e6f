"""Random normal-form games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.games.tensor import NormalFormGame, TensorEpisode, check_size
from regret_envs.seeding import RunSeeds
from regret_envs.validation import at_least
from regret_envs.worlds import Bounds
from regret_envs.worlds import Game as Game
from regret_envs.worlds import GameEpisode as GameEpisode

PayoffLaw = Literal["uniform", "gaussian"]


def random_payoffs(
    num_actions: Sequence[int],
    *,
    rng: np.random.Generator,
    law: PayoffLaw = "uniform",
    correlation: float = 0.0,
) -> list[FloatArray]:
    """Independent payoffs at every action profile, correlated between the players if asked.

    Args:
        num_actions: one number of actions per player.
        rng: the generator.
        law: "uniform" on [−1, 1], or "gaussian", N(0, 1).
        correlation: ρ between any two players' Gaussian payoffs at the same profile, from
            −1/(N−1) (with two players −1: zero-sum) to 1 (common interest). The "covariant game"
            of GAMUT (Nudelman, Wortman, Shoham and Leyton-Brown 2004).

    Returns:
        One array (d_0, …, d_{N−1}) per player.

    Raises:
        ValueError: if there is no player, the law is unknown, or the correlation out of range or asked
            of uniform payoffs.
        TensorSizeError: if the arrays would not fit; names their size.
    """
    shape = (len(num_actions), *(at_least("num_actions", d, 1) for d in num_actions))
    if len(num_actions) == 0:
        raise ValueError("num_actions must hold one number of actions per player, got none")
    check_size(num_actions)
    lowest = -1.0 / max(len(num_actions) - 1, 1)
    if not lowest <= correlation <= 1:
        raise ValueError(
            f"correlation must lie in [{lowest:g}, 1] for {len(num_actions)} players, got {correlation}"
        )
    if law == "gaussian":
        z = rng.standard_normal(shape)
        # Covariance (1 − ρ) I + ρ 11ᵀ: shrink the players' mean and their deviations from it apart.
        mean = z.mean(0, keepdims=True)
        count = len(num_actions)
        return list(np.sqrt(1 - correlation) * (z - mean) + np.sqrt(1 + (count - 1) * correlation) * mean)
    if law != "uniform":
        raise ValueError(f"law must be 'uniform' or 'gaussian', got {law!r}")
    if correlation:
        raise ValueError("correlation needs law='gaussian'")
    return list(rng.uniform(-1.0, 1.0, shape))


def random_game(
    num_actions: Sequence[int], *, seed: int = 0, law: PayoffLaw = "uniform", correlation: float = 0.0
) -> NormalFormGame:
    """One seeded random game; arguments and errors as in `random_payoffs`."""
    payoffs = random_payoffs(num_actions, rng=np.random.default_rng(seed), law=law, correlation=correlation)
    return NormalFormGame(payoffs, name=f"random game {seed}")


class RandomGames(Game):
    """A new random game for every run; arguments and errors as in `random_payoffs`."""

    def __init__(
        self, num_actions: Sequence[int], *, law: PayoffLaw = "uniform", correlation: float = 0.0
    ) -> None:
        random_payoffs(num_actions, rng=np.random.default_rng(0), law=law, correlation=correlation)
        self.num_actions = tuple(num_actions)
        self.law: PayoffLaw = law
        self.correlation = correlation
        self.loss_scale = 2.0 if law == "uniform" else 1.0

    def loss_bounds(self, player: int) -> Bounds | None:
        """[−1, 1] under the uniform law."""
        return (-1.0, 1.0) if self.law == "uniform" else None

    def start(self, *, num_agents: int, horizon: int, seeds: RunSeeds) -> TensorEpisode:
        """Begin an episode: draw every run's game.

        Raises:
            TensorSizeError: if the runs' arrays together would not fit; names their size.
        """
        self.seats(num_agents)
        check_size(self.num_actions, seeds.num_runs)
        losses = [np.empty((*self.num_actions, seeds.num_runs)) for _ in self.num_actions]
        for run, rng in enumerate(seeds.world()):
            drawn = random_payoffs(self.num_actions, rng=rng, law=self.law, correlation=self.correlation)
            for loss, payoff in zip(losses, drawn, strict=True):
                np.negative(payoff, out=loss[..., run])
        return TensorEpisode(losses)

    def __repr__(self) -> str:
        return f"<{self.law} random games, {' × '.join(map(str, self.num_actions))} actions>"
