"""Regrets and equilibrium gaps, exact and vectorized over runs.

Everything follows from one sufficient statistic per player, the **play–loss matrix**

    M = Σ_t π_t ℓ_tᵀ ∈ R^{d×d},

whose entry M[i, j] is the loss that the mass played on action i would have had on action j:

- external regret  = tr M − min_j Σ_i M[i, j]
- swap regret      = Σ_i (M[i, i] − min_j M[i, j])
- internal regret  = max_{i,j} (M[i, i] − M[i, j])

In a game with expected losses, 1/T times these are the player's coarse correlated (CCE) gap, its
full-swap gap and its pairwise correlated-equilibrium (CE) gap of the time-averaged joint play
T⁻¹ Σ_t ⊗_n π_{n,t} (Blum and Mansour 2007; Hart and Mas-Colell 2000). Conventions: the headline is
the **maximum over players**, the pairwise gap is **not conditioned** on the recommended action and
nothing is clipped, so a CCE gap may be negative. OpenSpiel's `cce_dist` and `ce_dist` sum over
players, and its `ce_dist` is the full-swap gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray
from regret_envs.validation import at_least

if TYPE_CHECKING:
    pass


def play_loss_matrix(policies: npt.ArrayLike, losses: npt.ArrayLike) -> FloatArray:
    """M = Σ_t π_t ℓ_tᵀ of recorded play.

    Args:
        policies: shape (horizon, ..., num_actions).
        losses: the same shape.

    Returns:
        Shape (..., num_actions, num_actions); entry [i, j]: loss of the mass played on i, on j.
    """
    return np.einsum("t...i,t...j->...ij", np.asarray(policies, float), np.asarray(losses, float))


def external_regret(play_loss: FloatArray) -> FloatArray:
    """tr M − min_j Σ_i M[i, j], the regret against the best fixed action; shape (..., d, d) → (...)."""
    return play_loss.trace(axis1=-2, axis2=-1) - play_loss.sum(-2).min(-1)


def swap_regret(play_loss: FloatArray) -> FloatArray:
    """Σ_i (M[i, i] − min_j M[i, j]), the regret against the best map of actions; (..., d, d) → (...).

    Blum and Mansour, "From External to Internal Regret", JMLR 2007.
    """
    regret = play_loss.trace(axis1=-2, axis2=-1) - play_loss.min(-1).sum(-1)
    # It is at least the other two regrets; rounding must not say otherwise.
    return np.maximum(np.maximum(regret, internal_regret(play_loss)), external_regret(play_loss))


def internal_regret(play_loss: FloatArray) -> FloatArray:
    """max_{i,j} (M[i, i] − M[i, j]), the regret against the best single swap; (..., d, d) → (...).

    Stoltz and Lugosi, "Internal Regret in On-Line Portfolio Selection", Machine Learning 2005.
    """
    return _savings(play_loss).max(-1)


def _savings(play_loss: FloatArray) -> FloatArray:
    """M[i, i] − min_j M[i, j]: what moving i to its best j would have saved; (..., d, d) → (..., d)."""
    return play_loss.diagonal(axis1=-2, axis2=-1) - play_loss.min(-1)


REGRETS = {"external": external_regret, "swap": swap_regret, "internal": internal_regret}


def nash_conv(losses: Sequence[FloatArray], policies: Sequence[FloatArray]) -> FloatArray:
    """NashConv(π) = Σ_n max_a [u_n(a, π_{−n}) − u_n(π)], zero exactly at a Nash equilibrium.

    Lanctot et al., "A Unified Game-Theoretic Approach to Multiagent Reinforcement Learning", 2017.

    Args:
        losses: one array (num_runs, d_n) per player: the expected losses of its actions against the
            others' policies.
        policies: one array (num_runs, d_n) per player.

    Returns:
        Shape (num_runs,).
    """
    gains = [(loss * policy).sum(-1) - loss.min(-1) for loss, policy in zip(losses, policies, strict=True)]
    return np.sum(gains, axis=0)


def log_spaced_rounds(horizon: int, per_decade: int = 3) -> list[int]:
    """Rounds 1 … horizon, about `per_decade` per decade, the horizon always among them.

    Raises:
        ValueError: if `horizon` or `per_decade` is below 1.
    """
    decades = np.log10(at_least("horizon", horizon, 1))
    count = int(np.ceil(decades * at_least("per_decade", per_decade, 1))) + 1
    rounds = {round(10 ** (k / per_decade)) for k in range(count)}
    return sorted({t for t in rounds if t <= horizon} | {horizon})


_PRODUCT_CELLS = 1 << 17


class PlayLossSum:
    """Running play–loss matrices of one player, M += Σ_k π_k ℓ_kᵀ over blocks of rounds.

    A matrix product over a block of rounds is cheaper than a rank-one update per round.
    """

    def __init__(self, num_actions: int, num_runs: int) -> None:
        # Few actions and many runs: runs contiguous, else one BLAS product per run (measured, not theory).
        self._runs_last = num_actions <= 12 and num_runs > 8
        runs, square = (num_runs,), (num_actions, num_actions)
        self._total = np.zeros(square + runs if self._runs_last else runs + square)
        few = max(_PRODUCT_CELLS // num_actions**2, 1)
        self._product = np.empty((0 if self._runs_last else min(few, num_runs), *square))

    def add(self, policies: FloatArray, losses: FloatArray) -> None:
        """Add a block of rounds; both arrays (rounds, num_actions, num_runs)."""
        if self._runs_last:
            for i, row in enumerate(self._total):
                row += np.einsum("tr,tjr->jr", policies[:, i], losses)
        else:
            # A few runs at once, into the same array, so that little memory is needed beside the sums.
            few = len(self._product)
            for first in range(0, len(self._total), few):
                runs = slice(first, first + few)
                by_run = np.ascontiguousarray(policies[..., runs].transpose(2, 1, 0))
                product = self._product[: len(by_run)]
                np.matmul(by_run, np.ascontiguousarray(losses[..., runs].transpose(2, 0, 1)), out=product)
                self._total[runs] += product

    def value(self, *, copy: bool = True) -> FloatArray:
        """M, shape (num_runs, num_actions, num_actions); without a copy, `add` changes it."""
        total = self._total.transpose(2, 0, 1) if self._runs_last else self._total
        return total.copy() if copy else total
