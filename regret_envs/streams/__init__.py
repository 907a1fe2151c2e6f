"""Losses that do not come from a game: stochastic, changing, recorded and adversarial."""

from regret_envs.streams.adversaries import AdaptiveAdversary, BestResponse
from regret_envs.streams.irregular import (
    Chirps,
    Duplicated,
    Garch,
    LateNeedle,
    MarkovModulated,
    OneTerrible,
)
from regret_envs.streams.named import STREAMS, make
from regret_envs.streams.recorded import Recorded, prices
from regret_envs.streams.shifting import (
    MisleadingLeader,
    PiecewiseStationary,
    Reversal,
    Seasonal,
    StochasticallyConstrained,
    SwapLowerBound,
)
from regret_envs.streams.stochastic import (
    Alternating,
    Bernoulli,
    BiasedGaussian,
    DriftingMean,
    Gaussian,
    Rademacher,
    SwitchingBest,
)
from regret_envs.worlds import Stream

__all__ = [
    "STREAMS",
    "AdaptiveAdversary",
    "Alternating",
    "Bernoulli",
    "BestResponse",
    "BiasedGaussian",
    "Chirps",
    "DriftingMean",
    "Duplicated",
    "Garch",
    "Gaussian",
    "LateNeedle",
    "MarkovModulated",
    "MisleadingLeader",
    "OneTerrible",
    "PiecewiseStationary",
    "Rademacher",
    "Recorded",
    "Reversal",
    "Seasonal",
    "StochasticallyConstrained",
    "Stream",
    "SwapLowerBound",
    "SwitchingBest",
    "make",
    "prices",
]
