"""The registry of streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regret_envs.names import make_named
from regret_envs.streams.adversaries import AdaptiveAdversary, BestResponse
from regret_envs.streams.irregular import (
    Chirps,
    Duplicated,
    Garch,
    LateNeedle,
    MarkovModulated,
    OneTerrible,
)
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
from regret_envs.worlds import World

STREAMS: dict[str, Callable[..., World]] = {
    "gaussian": Gaussian,
    "biased_gaussian": BiasedGaussian,
    "drifting": DriftingMean,
    "bernoulli": Bernoulli,
    "switching": SwitchingBest,
    "rademacher": Rademacher,
    "alternating": Alternating,
    "piecewise": PiecewiseStationary,
    "seasonal": Seasonal,
    "constrained": StochasticallyConstrained,
    "reversal": Reversal,
    "swap_lower_bound": SwapLowerBound,
    "misleading": MisleadingLeader,
    "markov_modulated": MarkovModulated,
    "garch": Garch,
    "chirps": Chirps,
    "late_needle": LateNeedle,
    "duplicated": Duplicated,
    "one_terrible": OneTerrible,
    "adaptive": AdaptiveAdversary,
    "best_response": BestResponse,
    "recorded": Recorded,
    "prices": prices,
}


def make(name: str, **settings: Any) -> World:
    """The named stream with its settings, e.g. `make("bernoulli", num_actions=10, gap=0.05)`.

    Raises:
        UnknownNameError: if there is no such stream; lists the near matches.
        TypeError: if the stream has no such setting, or a setting that it needs is missing.
    """
    return make_named("stream", name, STREAMS, settings)
