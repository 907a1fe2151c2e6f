"""Magnetic mirror descent: its update, and its last policies in zero-sum games."""

from __future__ import annotations

import numpy as np
import pytest

from regret_envs import games, simulate
from regret_envs.agents import Hedge, MagneticMirrorDescent


def test_the_update_minimizes_what_it_says():
    agent = MagneticMirrorDescent(step_size=0.6, temperature=0.3)
    agent.reset(3, horizon=5, num_runs=1, rng=np.random.default_rng(0))
    rng = np.random.default_rng(1)
    policy = agent.act()[0].copy()
    for _ in range(5):
        losses = rng.normal(size=3)
        agent.observe(losses[None])
        new = agent.act()[0].copy()
        # η (ℓ + τ ln(π d)) + ln(π / π_t) is the same for all actions.
        slack = 0.6 * (losses + 0.3 * np.log(3 * new)) + np.log(new / policy)
        np.testing.assert_allclose(slack, slack[0], atol=1e-12)
        policy = new


def test_at_temperature_0_it_is_hedge():
    settings = {"horizon": 50, "num_runs": 3, "starting_loss_scale": 1.0, "record": "policies"}
    game = games.random_game((2, 3), seed=4)
    ours = simulate(game, [MagneticMirrorDescent(temperature=0.0) for _ in range(2)], **settings)
    hedge = simulate(game, [Hedge(), Hedge()], **settings)
    for a, b in zip(ours.policies, hedge.policies, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_the_last_policies_converge_linearly_to_the_quantal_response_equilibrium():
    game = games.NormalFormGame.zero_sum(np.random.default_rng(2).uniform(-1, 1, size=(3, 4)))
    step, temperature, horizon = 0.2, 0.2, 600
    agents = [MagneticMirrorDescent(step_size=step, temperature=temperature) for _ in range(2)]
    play = simulate(game, agents, horizon=horizon, starting_loss_scale=1.0, record="policies")
    x, y = (p[-1, 0] for p in play.policies)
    for policy, losses in ((x, game.losses[0] @ y), (y, x @ game.losses[1])):
        response = np.exp(-losses / temperature)
        np.testing.assert_allclose(policy, response / response.sum(), atol=1e-12)
    distances = sum(np.abs(p[:, 0] - p[-1, 0]).sum(1) for p in play.policies)
    # The rate of the theorem is 1 / (1 + ητ) a round in KL, its square root in the policies.
    rate = (1 + step * temperature) ** -0.5
    assert distances[300] < distances[0] * rate**300 * 10


@pytest.mark.parametrize("temperature", [-0.1, np.inf])
def test_settings_out_of_range(temperature):
    with pytest.raises(ValueError, match="temperature must be finite and not negative"):
        MagneticMirrorDescent(temperature=temperature)
    assert MagneticMirrorDescent("anytime").regret_bound(3, 10, 1.0) == np.inf
