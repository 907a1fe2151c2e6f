"""AdaNormalHedge and Squint against their formulas in plain loops, and what their potentials promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regret_envs import simulate, streams
from regret_envs.agents import AdaNormalHedge, Hedge, Squint


def adanormalhedge_weight(regret, scale):
    def potential(r, c):
        return math.exp(max(r, 0) ** 2 / (3 * c))

    return potential(regret + 1, scale + 1) - potential(regret - 1, scale + 1)


def squint_weight(regret, scale):
    total = 0.0
    for j in range(1, 21):
        prior = 1 / (j * (j + 1)) if j < 20 else 1 / 20
        total += prior * 2.0**-j * math.exp(2.0**-j * regret - 4.0**-j * scale)
    return total


@pytest.mark.parametrize(
    ("agent", "weight", "scale_of"),
    [(AdaNormalHedge(), adanormalhedge_weight, abs), (Squint(), squint_weight, lambda r: r * r)],
)
def test_policies_are_the_formula(agent, weight, scale_of):
    losses = np.random.default_rng(3).uniform(-1, 1, size=(40, 4))
    agent.reset(4, horizon=40, num_runs=1, rng=np.random.default_rng(0))
    regrets, scales = [0.0] * 4, [0.0] * 4
    for row in losses:
        weights = np.array([weight(r, s) for r, s in zip(regrets, scales, strict=True)])
        policy = agent.act()[0]
        np.testing.assert_allclose(policy, weights / weights.sum(), atol=1e-12)
        agent.observe(row[None])
        for a in range(4):
            regret = (policy @ row - row[a]) / 2
            regrets[a] += regret
            scales[a] += scale_of(regret)


def test_the_potential_of_squint_does_not_grow():
    # Σ_a Σ_j γ_j exp(η_j R − η_j² V) ≤ d is what its bound follows from.
    agent = Squint(loss_range=1.0)
    agent.reset(3, horizon=500, num_runs=8, rng=np.random.default_rng(0))
    rng = np.random.default_rng(1)
    steps = 0.5 ** np.arange(1, 21)
    prior = np.array([1 / (j * (j + 1)) for j in range(1, 20)] + [1 / 20])
    assert prior.sum() == pytest.approx(1)
    before = np.full(8, 3.0)
    for t in range(500):
        agent.act()
        agent.observe(rng.random((8, 3)) if t % 50 else np.eye(3)[np.full(8, t % 3)])
        terms = steps[:, None, None] * agent._regrets - (steps**2)[:, None, None] * agent._scales
        potential = np.einsum("j,jar->r", prior, np.exp(terms))
        assert (potential <= before + 1e-12).all()
        before = potential


@pytest.mark.parametrize("agent", [AdaNormalHedge(loss_range=1.0), Squint(loss_range=1.0)])
def test_easy_losses_cost_less_than_hedge_guards_against(agent):
    world, settings = streams.Bernoulli(10, gap=0.4), {"horizon": 2_000, "num_runs": 64}
    adaptive = simulate(world, agent, **settings).regret()[0]
    fixed = simulate(world, Hedge(), **settings).regret()[0]
    difference = fixed - adaptive
    assert difference.mean() > 5 * difference.std(ddof=1) / 8


@pytest.mark.parametrize("cls", [AdaNormalHedge, Squint])
@pytest.mark.parametrize("loss_range", [0.0, -1.0, np.inf])
def test_settings_out_of_range(cls, loss_range):
    with pytest.raises(ValueError, match=r"loss_range must be (positive|finite and not negative)"):
        cls(loss_range=loss_range)


@pytest.mark.parametrize("cls", [AdaNormalHedge, Squint])
def test_no_bound_beyond_the_range_that_was_told(cls):
    assert cls(loss_range=1.0).regret_bound(3, 50, 2.0) == math.inf
    assert cls(loss_range=3.0).regret_bound(3, 50, 2.0) == pytest.approx(1.5 * cls().regret_bound(3, 50, 2.0))
