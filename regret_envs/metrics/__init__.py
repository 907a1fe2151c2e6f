"""Regrets and equilibrium gaps, exact and vectorized over runs."""

from regret_envs.metrics.gaps import CoarseGap, EquilibriumGaps, Gap, PairwiseGap, SwapGap, equilibrium_gaps
from regret_envs.metrics.regrets import (
    REGRETS,
    PlayLossSum,
    external_regret,
    internal_regret,
    log_spaced_rounds,
    nash_conv,
    play_loss_matrix,
    swap_regret,
)
from regret_envs.metrics.tracking import adaptive_regret, tracking_regret
from regret_envs.simplex import SIMPLEX_TOLERANCE, all_on_simplex, off_simplex

__all__ = [
    "REGRETS",
    "SIMPLEX_TOLERANCE",
    "CoarseGap",
    "EquilibriumGaps",
    "Gap",
    "PairwiseGap",
    "PlayLossSum",
    "SwapGap",
    "adaptive_regret",
    "all_on_simplex",
    "equilibrium_gaps",
    "external_regret",
    "internal_regret",
    "log_spaced_rounds",
    "nash_conv",
    "off_simplex",
    "play_loss_matrix",
    "swap_regret",
    "tracking_regret",
]
