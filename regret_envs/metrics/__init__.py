"""Regrets and equilibrium gaps, exact and vectorized over runs, and the metrics that tasks name."""

from regret_envs.metrics.catalog import METRICS, Metric, make_metric, normalization
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
    "METRICS",
    "REGRETS",
    "SIMPLEX_TOLERANCE",
    "CoarseGap",
    "EquilibriumGaps",
    "Gap",
    "Metric",
    "PairwiseGap",
    "PlayLossSum",
    "SwapGap",
    "adaptive_regret",
    "all_on_simplex",
    "equilibrium_gaps",
    "external_regret",
    "internal_regret",
    "log_spaced_rounds",
    "make_metric",
    "nash_conv",
    "normalization",
    "off_simplex",
    "play_loss_matrix",
    "swap_regret",
    "tracking_regret",
]
