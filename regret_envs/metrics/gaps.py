"""Equilibrium gaps of joint play, exact and vectorized over runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray, IntArray
from regret_envs.metrics.regrets import _savings, external_regret, internal_regret, swap_regret
from regret_envs.simplex import off_simplex

if TYPE_CHECKING:
    from regret_envs.games import NormalFormGame


@dataclass(frozen=True)
class Gap:
    """One kind of gap.

    Attributes:
        per_player: shape (num_players, num_runs), in units of loss per round.
    """

    per_player: FloatArray

    @property
    def max(self) -> FloatArray:
        """The headline: the maximum over players, shape (num_runs,)."""
        return self.per_player.max(0)


@dataclass(frozen=True)
class CoarseGap(Gap):
    """CCE_n = max_{a'} E_μ[u_n(a', a_{−n}) − u_n(a)].

    Attributes:
        best_deviation: int (num_players, num_runs), the action a' to play always.
    """

    best_deviation: IntArray


@dataclass(frozen=True)
class PairwiseGap(Gap):
    """CE_n = max_{i,j} Σ_{a_{−n}} μ(i, a_{−n}) [u_n(j, a_{−n}) − u_n(i, a_{−n})].

    Attributes:
        best_deviation: int (num_players, num_runs, 2), from which action to which.
    """

    best_deviation: IntArray


@dataclass(frozen=True)
class SwapGap(Gap):
    """Swap_n = Σ_i max_j Σ_{a_{−n}} μ(i, a_{−n}) [u_n(j, a_{−n}) − u_n(i, a_{−n})].

    Attributes:
        best_deviation: one int array (num_runs, num_actions) per player: entry i is the action that
            action i is best swapped for.
    """

    best_deviation: tuple[IntArray, ...]


@dataclass(frozen=True)
class EquilibriumGaps:
    """The CCE gap, the pairwise CE gap and the full-swap CE gap of joint play, every player's.

    Attributes:
        play_losses: one array (num_runs, num_actions, num_actions) per player: its play–loss matrix.
        num_rounds: what play–loss matrices are divided by for losses per round.
    """

    play_losses: tuple[FloatArray, ...]
    num_rounds: int = 1

    def __repr__(self) -> str:
        gaps = ", ".join(f"{kind} {getattr(self, kind).max.mean():.5g}" for kind in ("cce", "ce", "swap"))
        return f"<EquilibriumGaps, maximum over players, mean over {len(self.play_losses[0])} runs: {gaps}>"

    @cached_property
    def cce(self) -> CoarseGap:
        """The gap to a coarse correlated equilibrium; may be negative."""
        deviations = [m.sum(-2).argmin(-1) for m in self.play_losses]
        return CoarseGap(self._per_round(external_regret), np.stack(deviations))

    @cached_property
    def ce(self) -> PairwiseGap:
        """The pairwise gap to a correlated equilibrium; never negative."""
        deviations = []
        for m in self.play_losses:
            source = _savings(m).argmax(-1)
            row = np.take_along_axis(m, source[..., None, None], -2)[..., 0, :]
            deviations.append(np.stack([source, row.argmin(-1)], -1))
        return PairwiseGap(self._per_round(internal_regret), np.stack(deviations))

    @cached_property
    def swap(self) -> SwapGap:
        """The full-swap gap to a correlated equilibrium; at least the other two."""
        deviations = tuple(m.argmin(-1) for m in self.play_losses)
        return SwapGap(self._per_round(swap_regret), deviations)

    def _per_round(self, regret: Callable[[FloatArray], FloatArray]) -> FloatArray:
        return np.stack([regret(m) for m in self.play_losses]) / self.num_rounds


def equilibrium_gaps(game: NormalFormGame, joint: npt.ArrayLike) -> EquilibriumGaps:
    """The gaps of a joint distribution over action profiles.

    Args:
        game: the game.
        joint: shape (d_0, …, d_{N−1}), not negative beyond 1e-12 (rounding), summing to 1 within 1e-6.

    Returns:
        A report for one run (num_runs = 1).

    Raises:
        ValueError: if `joint` is of another shape or not a distribution.
    """
    joint = np.asarray(joint, dtype=np.float64)
    if joint.shape != game.num_actions:
        raise ValueError(f"the joint distribution has shape {joint.shape}, the game {game.num_actions}")
    if off_simplex(joint.ravel()):
        raise ValueError(
            f"the joint distribution must be non-negative and sum to 1, got minimum {joint.min()} "
            f"and sum {joint.sum()}"
        )
    play_losses = []
    for player, losses in enumerate(game.losses):
        shape = (game.num_actions[player], -1)
        mass = np.moveaxis(joint, player, 0).reshape(shape)
        play_losses.append((mass @ np.moveaxis(losses, player, 0).reshape(shape).T)[None])
    return EquilibriumGaps(tuple(play_losses))
