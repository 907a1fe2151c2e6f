"""Regret matching and its relatives against the papers' loops, written in utilities."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import play

from regret_envs import games, simulate, streams
from regret_envs.agents import (
    BlumMansour,
    Hedge,
    InternalRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)
from regret_envs.feedback import Delayed


def normalized(theta):
    theta = np.maximum(theta, 0)
    return theta / theta.sum() if theta.any() else np.full(len(theta), 1 / len(theta))


def loop(utilities, kind):
    """One run's strategies by the algorithms of Farina, Kroer and Sandholm 2021."""
    z, guess, x = np.zeros(len(utilities[0])), np.zeros(len(utilities[0])), None
    strategies = []
    for utility in utilities:
        predicted = z + guess - guess @ x if kind == "predictive" and x is not None else z
        x = normalized(predicted)
        strategies.append(x)
        z = z + utility - utility @ x
        if kind != "matching":
            z = np.maximum(z, 0)
        guess = utility
    return strategies


@pytest.mark.parametrize(
    ("agent", "kind"),
    [
        (RegretMatching(), "matching"),
        (RegretMatchingPlus(), "plus"),
        (PredictiveRegretMatchingPlus(), "predictive"),
    ],
)
def test_against_the_plain_loop(agent, kind):
    losses = np.random.default_rng(3).normal(size=(40, 3, 4))
    policies = play(agent, losses)
    for run in range(3):
        assert np.allclose(policies[:, run], loop(-losses[:, run], kind), rtol=0, atol=1e-12)


def test_uniform_where_no_regret_is_positive():
    losses = np.array([[[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]])
    agent = RegretMatching()
    play(agent, losses)
    assert np.allclose(agent.act(), [[0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]])


@pytest.mark.parametrize("kind", [RegretMatching, RegretMatchingPlus, PredictiveRegretMatchingPlus])
def test_the_scale_of_the_losses_does_not_matter(kind):
    losses = np.random.default_rng(4).normal(size=(30, 2, 3))
    assert np.allclose(play(kind(), 1e-5 * losses), play(kind(), losses), rtol=0, atol=1e-9)


def test_plus_is_closer_to_equilibrium_and_prediction_closer_still():
    game = games.weighted_rps()
    conv = [
        simulate(game, [kind(), kind()], horizon=2000, num_runs=8, starting_loss_scale=1.0).nash_conv().mean()
        for kind in (RegretMatching, RegretMatchingPlus, PredictiveRegretMatchingPlus)
    ]
    assert conv[0] > conv[1] > conv[2]


def test_internal_regret_matching_is_stationary_under_its_positive_regrets():
    agent = InternalRegretMatching()
    agent.reset(4, horizon=40, num_runs=2, rng=np.random.default_rng(0))
    rng, regrets = np.random.default_rng(1), np.zeros((2, 4, 4))
    for _ in range(40):
        policies = agent.act()
        rates = np.maximum(regrets, 0)
        flow_out = policies * rates.sum(2)
        flow_in = np.einsum("ri,rij->rj", policies, rates)
        np.testing.assert_allclose(flow_out, flow_in, atol=1e-12)
        losses = rng.normal(size=(2, 4))
        regrets += policies[:, :, None] * (losses[:, :, None] - losses[:, None, :])
        agent.observe(losses)


@pytest.mark.parametrize("delay", [1, 4])
def test_delayed_regret_matching_and_blum_mansour_by_hand(delay):
    """What is learned is Σ over the rounds seen of what the policies of those rounds had as regret."""
    settings = {"horizon": 40, "num_runs": 2, "record": ("policies", "losses"), "feedback": Delayed(delay)}
    play = simulate(streams.Gaussian(3), RegretMatching(), **settings)
    regrets = np.cumsum((play.policies[0] * play.losses[0]).sum(2, keepdims=True) - play.losses[0], axis=0)
    positive = np.maximum(regrets, 0)[: 40 - delay - 1]
    positive[positive.sum(2) == 0] = 1.0
    expected = positive / positive.sum(2, keepdims=True)
    np.testing.assert_allclose(play.policies[0][delay + 1 :], expected, atol=1e-12)

    play = simulate(streams.Gaussian(3), BlumMansour(Hedge(step_size=0.2)), **settings)
    shares = np.cumsum(play.policies[0][..., None] * play.losses[0][:, :, None], axis=0)
    proposals = np.exp(-0.2 * shares)[: 40 - delay - 1]
    proposals /= proposals.sum(3, keepdims=True)
    later = play.policies[0][delay + 1 :]
    np.testing.assert_allclose(np.einsum("tri,trij->trj", later, proposals), later, atol=1e-12)
