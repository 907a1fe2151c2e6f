"""Fixed-Share against the mixture of all sequences of actions that it stands for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import play

from regret_envs import simulate, streams
from regret_envs.agents import FixedShare, Hedge, Uniform


@pytest.mark.parametrize(("share", "step"), [(0.1, 0.7), (0.5, 2.0), (1.0, 1.0), (0.0, 0.3)])
def test_policies_are_the_mixture_of_all_sequences(share, step):
    """w(a_1 … a_t) = (1/d) Π (α/d + (1 − α) 1[a_s = a_{s−1}]) exp(−η Σ ℓ_s(a_s)), by the last action."""
    losses = np.random.default_rng(1).normal(size=(5, 2, 3))
    policies = play(FixedShare(step_size=step, share=share), losses, 5)
    for t in range(5):
        weights = np.zeros((2, 3))
        for sequence in itertools.product(range(3), repeat=t + 1):
            stays = np.equal(sequence[1:], sequence[:-1])
            prior = np.prod(share / 3 + (1 - share) * stays)
            lost = losses[np.arange(t), :, sequence[:t]].sum(0)
            weights[:, sequence[t]] += prior * np.exp(-step * lost)
        np.testing.assert_allclose(policies[t], weights / weights.sum(1, keepdims=True), atol=1e-12)


def test_without_switches_it_is_hedge():
    losses = np.random.default_rng(2).normal(size=(300, 3, 4))
    np.testing.assert_allclose(play(FixedShare(0), losses, 300), play(Hedge(), losses, 300), atol=1e-12)
    assert FixedShare(0).regret_bound(4, 300, 2.0) == pytest.approx(Hedge().regret_bound(4, 300, 2.0))


def test_the_default_settings():
    share, step, penalty = FixedShare(3).settings(4, 101)
    assert share == 0.03
    expected = 4 * np.log(4) - 3 * np.log(0.03) - 97 * np.log(0.97)
    assert penalty == pytest.approx(expected) and step == pytest.approx(np.sqrt(2 * expected / 101))
    # A horizon with fewer rounds than switches is played, and the bound is not below what can be lost.
    assert FixedShare(5).regret_bound(3, 2, 2.0) > 2 * np.log(3)


def test_it_follows_a_switch_that_hedge_does_not():
    losses = np.zeros((400, 1, 2))
    losses[:200, :, 1] = losses[200:, :, 0] = 1.0
    shared, hedge = (play(a, losses, 400)[250, 0, 1] for a in (FixedShare(1), Hedge()))
    assert shared > 0.95 and hedge < 0.05


def test_an_unknown_horizon_is_played_within_reach_of_a_known_one():
    world = streams.SwitchingBest(4, phase_length=200, gap=0.4)
    settings = {"horizon": 1_000, "num_runs": 32, "record": ("policies", "losses")}
    known, unknown = (
        simulate(world, FixedShare(4), horizon_known=k, **settings).tracking_regret(4).mean()
        for k in (True, False)
    )
    assert unknown < 2 * known


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_switches": -1}, "num_switches must be at least 0, got -1"),
        ({"share": 1.5}, r"share must lie in \[0, 1\], got 1.5"),
        ({"share": np.nan}, r"share must lie in \[0, 1\], got nan"),
        ({"step_size": -0.1}, "step_size must be finite and not negative, got -0.1"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        FixedShare(**settings)


def test_a_share_of_nothing_is_hedge_and_of_everything_uniform():
    for share, other in ((0, Hedge()), (1, Uniform())):
        one, two = (
            simulate(streams.Bernoulli(3), agent, horizon=20, num_runs=4, seed=1).play_losses[0]
            for agent in (FixedShare(share=share), other)
        )
        np.testing.assert_allclose(one, two, rtol=1e-12)
        assert FixedShare(share=share).regret_bound(3, 20, 1.0) == np.inf
