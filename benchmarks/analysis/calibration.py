"""How often the tests of `vanishing` err, by simulation: on regret that is linear by construction, and not.

python -m regret_envs.benchmarks.analysis.calibration
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from regret_envs import simulate
from regret_envs.agents import Agent, Hedge
from regret_envs.agents.external.baselines import Uniform
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.analysis.vanishing import block_interval, growth, trend_check
from regret_envs.streams import BiasedGaussian, Gaussian, Stream

LEVEL = 0.05


class Case(NamedTuple):
    """Something whose regret is known to be linear, or not.

    Attributes:
        name: one line for the table.
        agent, world: who plays where.
        linear: whether the regret is.
    """

    name: str
    agent: Callable[[], Agent]
    world: Stream
    linear: bool


CASES = (
    Case("uniform, bias 1, noise 0.1", Uniform, BiasedGaussian(3, bias_scale=1.0, noise_scale=0.1), True),
    Case("uniform, bias 1, noise 0.35", Uniform, BiasedGaussian(3, bias_scale=1.0, noise_scale=0.35), True),
    Case("uniform, bias 0.35, noise 1", Uniform, BiasedGaussian(3), True),
    Case("Hedge, bias 0.35, noise 1", Hedge, BiasedGaussian(3), False),
    Case("Hedge, no bias, noise 1", Hedge, Gaussian(3), False),
)


class Rates(NamedTuple):
    """The share of repetitions in which each test says, at 5 %, that regret vanishes."""

    trend: float
    regression: float
    blocks: float


def rates(case: Case, *, horizon: int, num_runs: int, repeats: int, seed: int = 0) -> Rates:
    """How often each test says that the mean regret of `num_runs` runs vanishes.

    On linear regret that is the share of errors, elsewhere one minus it.

    Args:
        case: who plays where.
        horizon: T.
        num_runs: runs in a mean.
        repeats: means that are tested.
        seed: the seed of the play and of the resamples.
    """
    play = simulate(
        case.world,
        case.agent(),
        horizon=horizon,
        num_runs=num_runs * repeats,
        seed=seed,
        record=("policies", "losses"),
    )
    assert play.policies is not None
    assert play.losses is not None
    curves = regret_curves(play.policies[0], play.losses[0])
    said = [
        _vanishes(mean, seed=repeat)
        for repeat, mean in enumerate(curves.reshape(repeats, num_runs, horizon).mean(1))
    ]
    return Rates(*(float(share) for share in np.mean(said, axis=0)))


def regret_curves(policies: FloatArray, losses: FloatArray) -> FloatArray:
    """External regret after every round, R_t = Σ_{s≤t} ⟨ℓ_s, π_s⟩ − min_a Σ_{s≤t} ℓ_s(a).

    Args:
        policies: shape (T, num_runs, d).
        losses: likewise.

    Returns:
        Shape (num_runs, T).
    """
    own = (policies * losses).sum(-1).cumsum(0)
    return (own - losses.cumsum(0).min(-1)).T


def _vanishes(regret: FloatArray, *, seed: int) -> list[bool]:
    p_values = (
        trend_check(regret).p_value,
        growth(regret).p_value,
        block_interval(regret, seed=seed, num_resamples=400).p_value,
    )
    return [p is not None and p < LEVEL for p in p_values]


def main() -> None:
    """Print the table of the documentation, as Markdown."""
    print("| agent and stream | regret | T | runs | trend | regression | block bootstrap |")
    print("|---|---|---|---|---|---|---|")
    for case in CASES:
        for horizon, num_runs in ((25, 1), (25, 8), (50, 8), (200, 8), (25, 64)):
            found = rates(case, horizon=horizon, num_runs=num_runs, repeats=400)
            kind = "linear" if case.linear else "sublinear"
            shares = " | ".join(f"{100 * share:.0f} %" for share in found)
            print(f"| {case.name} | {kind} | {horizon} | {num_runs} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
