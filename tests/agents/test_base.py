"""The agent base classes."""

from __future__ import annotations

import numpy as np
import pytest

from regret_envs import simulate, streams
from regret_envs.agents import Agent, SingleRunAgent
from regret_envs.feedback import Delayed


class Coin(SingleRunAgent):
    """Draws one policy per round and remembers what it was shown."""

    def __init__(self, sharpness=1.0):
        self.sharpness = sharpness

    def reset_run(self, num_actions, *, horizon, rng):
        self.rng, self.num_actions, self.horizon, self.seen = rng, num_actions, horizon, []

    def act_run(self):
        return self.rng.dirichlet(np.full(self.num_actions, self.sharpness))

    def observe_run(self, losses):
        self.seen.append(losses.copy())


def reset(agent, num_runs, seed=0):
    agent.reset(3, horizon=7, num_runs=num_runs, rng=np.random.default_rng(seed))
    return agent


def test_every_run_has_a_copy_with_a_generator_of_its_own():
    agent = reset(Coin(sharpness=2.0), 4)
    policies = agent.act()
    assert policies.shape == (4, 3) and len(np.unique(policies[:, 0])) == 4
    assert all(run.sharpness == 2.0 and run.horizon == 7 for run in agent._runs)
    losses = np.arange(12.0).reshape(4, 3)
    agent.observe(losses)
    assert all(np.array_equal(run.seen, losses[r : r + 1]) for r, run in enumerate(agent._runs))


def test_same_generator_same_play_and_reset_starts_anew():
    agent = reset(Coin(), 3)
    first = agent.act()
    agent.observe(np.zeros((3, 3)))
    assert np.array_equal(reset(agent, 3).act(), first)
    assert not np.array_equal(reset(agent, 3, seed=1).act(), first)
    assert len(reset(agent, 2)._runs) == 2


def test_runs_whose_policies_differ_in_shape_are_named():
    class Odd(Coin):
        def act_run(self):
            return [0.5, 0.5] if self.rng.random() < 0.5 else [1.0]

    agent = reset(Odd(), 30)
    with pytest.raises(ValueError, match=r"policy of shape \(\d,\) in run [1-9]\d*, and of \(\d,\) in run 0"):
        agent.act()


def test_an_agent_must_write_three_methods():
    class Half(Agent):
        def act(self):
            return np.ones((1, 1))

    with pytest.raises(TypeError, match="observe"):
        Half()


def test_defaults_promise_nothing():
    coin = Coin()
    assert coin.unsupported(5, horizon=None) is None
    assert coin.regret_bound(3, 10, 1.0) is None
    assert (coin.reference, coin.guarantee, coin.bounds) == ("", "", "")
    copied = coin.as_copy(3)
    assert copied is not coin and copied.sharpness == coin.sharpness


class Recalling(Agent):
    """Plays action t mod 3 in round t, and is sure of what it recalls."""

    def reset(self, num_actions, *, horizon, num_runs, rng):
        super().reset(num_actions, horizon=horizon, num_runs=num_runs, rng=rng)
        self.t, self.shape, self.recalled = 0, (num_runs, num_actions), []

    def act(self):
        policies = np.zeros(self.shape)
        policies[:, self.t % 3] = 1.0
        self.remember(self.t)
        self.t += 1
        return policies

    def observe(self, losses):
        self.recalled.append(self.recall())


class RecallingInEachRun(SingleRunAgent):
    def reset_run(self, num_actions, *, horizon, rng):
        self.name, self.recalled, self.num_actions = rng.random(), [], num_actions

    def act_run(self):
        self.remember(self.name)
        return np.full(self.num_actions, 1 / self.num_actions)

    def observe_run(self, losses):
        assert self.recall() == self.name


def test_an_agent_recalls_the_round_whose_losses_arrive():
    agent = Recalling()
    for _ in range(2):  # A reset forgets what was never recalled.
        simulate(streams.Gaussian(3), agent, horizon=9, feedback=Delayed(4))
        assert agent.recalled == [0, 1, 2, 3, 4]
    simulate(streams.Gaussian(3), RecallingInEachRun(), horizon=9, num_runs=3, feedback=Delayed(4))
