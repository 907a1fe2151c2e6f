"""Layers between world and agent."""

from __future__ import annotations

import numpy as np
import pytest

from regret_envs import games, simulate, streams
from regret_envs.agents import Agent, Hedge
from regret_envs.feedback import Bandit, Delayed, Phased


class Recorder(Agent):
    """Plays a fixed policy and keeps what it is shown, with the round in which it arrived."""

    def __init__(self, policy):
        self.policy = policy

    def reset(self, num_actions, *, horizon, num_runs, rng):
        self.num_runs, self.t, self.shown = num_runs, 0, []

    def act(self):
        self.t += 1
        return np.tile(self.policy, (self.num_runs, 1))

    def observe(self, losses):
        self.shown.append((self.t, np.array(losses)))


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_bandit_estimates_are_the_formula_and_unbiased(gamma):
    policy = np.array([0.6, 0.3, 0.1])
    agent = Recorder(policy)
    layer = Bandit(implicit_exploration=gamma, loss_offset=-2.0)
    play = simulate(
        streams.Bernoulli(3), agent, horizon=1, num_runs=40_000, seed=1, feedback=layer, record="losses"
    )
    estimate, losses = agent.shown[0][1], play.losses[0][0]
    drawn = estimate != 0
    np.testing.assert_array_equal(drawn.sum(1), 1)
    np.testing.assert_allclose(
        estimate[drawn], (losses + 2.0)[drawn] / (policy + gamma)[np.nonzero(drawn)[1]]
    )
    error = estimate - (losses + 2.0) * policy / (policy + gamma)
    standard_error = error.std(0, ddof=1) / np.sqrt(len(error))
    assert (np.abs(error.mean(0)) < 5 * standard_error).all()


def test_a_game_answers_the_drawn_actions_and_both_regrets_are_reported():
    game = games.random_game((3, 2), seed=2)
    play = simulate(
        game, [Hedge(), Hedge()], horizon=400, num_runs=3, feedback=Bandit(loss_offset=-1), record="losses"
    )
    # Realised losses of a player are rows of its payoff matrix.
    for n, losses in enumerate(game.losses):
        rows = np.moveaxis(losses, 1 - n, 0)
        for run in play.losses[n][:, 1]:
            assert any(np.allclose(run, row, atol=1e-14) for row in rows)
    counts = play.realised.mean_policies[0] * 400
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    difference = play.realised.regret() - play.regret()
    assert (difference != 0).all()
    assert (np.abs(difference) < 5 * np.sqrt(400) * game.loss_scale).all()
    assert simulate(game, [Hedge(), Hedge()], horizon=2).realised is None


def test_a_run_draws_the_same_actions_in_any_batch():
    settings = {"horizon": 300, "seed": 4, "feedback": Bandit()}
    batch = simulate(streams.Bernoulli(3), Hedge(), num_runs=20, **settings).realised
    alone = simulate(streams.Bernoulli(3), Hedge(), first_run=13, **settings).realised
    np.testing.assert_allclose(alone.mean_policies[0][0], batch.mean_policies[0][13], atol=1e-12)


@pytest.mark.parametrize(
    "layers",
    [Delayed(0), Delayed(4), Delayed(2, jitter=6), Phased(7), [Delayed(3)]],
)
def test_delayed_losses_arrive_in_order_and_none_is_lost(layers):
    agent = Recorder([0.5, 0.5])
    play = simulate(streams.Gaussian(2), agent, horizon=70, num_runs=2, feedback=layers, record="losses")
    for t, (arrival, shown) in enumerate(agent.shown):
        np.testing.assert_array_equal(shown, play.losses[0][t])
        assert arrival >= t + 1
    arrivals = [arrival for arrival, _ in agent.shown]
    assert arrivals == sorted(arrivals)
    late = {"delay": [0, 4, 8, 7, 3]}["delay"]
    assert len(agent.shown) >= 70 - max(late)


def test_layers_that_exclude_each_other():
    for layers in ([Bandit(), Bandit()], [Delayed(2), Phased(3)]):
        with pytest.raises(ValueError, match="at most one layer"):
            simulate(streams.Gaussian(2), Hedge(), horizon=5, feedback=layers)
