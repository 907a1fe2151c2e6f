"""The sleeping-experts agent against a plain loop, and its regret where the best action changes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regret_envs import simulate, streams
from regret_envs.agents import FixedPolicy, FollowTheLeader, Hedge, StronglyAdaptive


def test_against_a_plain_loop():
    rng = np.random.default_rng(0)
    losses = rng.uniform(-1, 1, size=(37, 3))
    agent = StronglyAdaptive()
    agent.reset(3, horizon=37, num_runs=1, rng=rng)
    experts = {}
    for t, row in enumerate(losses, start=1):
        for k in range(t.bit_length()):
            if t % 2**k == 0:
                experts[k] = {"sum": np.zeros(3), "weight": min(0.5, 2 ** (-k / 2))}
        assert sorted(experts) == list(range(t.bit_length()))
        proposals = {}
        for k, expert in experts.items():
            step = math.sqrt(2 * math.log(3) / 2**k)
            proposals[k] = np.exp(-step * expert["sum"])
            proposals[k] /= proposals[k].sum()
        policy = sum(e["weight"] * proposals[k] for k, e in experts.items())
        policy /= sum(e["weight"] for e in experts.values())
        np.testing.assert_allclose(agent.act()[0], policy, atol=1e-12)
        agent.observe(row[None])
        for k, expert in experts.items():
            gain = (policy - proposals[k]) @ row / 2
            expert["weight"] *= 1 + min(0.5, 2 ** (-k / 2)) * gain
            expert["sum"] += row


def test_it_has_less_regret_on_the_worst_interval_than_hedge():
    world = streams.SwitchingBest(3, phase_length=250, gap=0.5)
    settings = {"horizon": 1_000, "num_runs": 64, "record": ("policies", "losses")}
    adaptive = simulate(world, StronglyAdaptive(loss_range=1.0), **settings).adaptive_regret(250)[0]
    hedge = simulate(world, Hedge(), **settings).adaptive_regret(250)[0]
    difference = hedge - adaptive
    assert difference.mean() > 5 * difference.std(ddof=1) / 8


def test_any_agent_may_be_copied():
    play = simulate(streams.Gaussian(2), StronglyAdaptive(FollowTheLeader()), horizon=30, num_runs=2)
    assert np.isfinite(play.regret()).all()
    assert StronglyAdaptive(FollowTheLeader()).regret_bound(2, 30, 2.0) is None
    assert StronglyAdaptive(loss_range=1.0).regret_bound(2, 30, 2.0) == math.inf
    reason = StronglyAdaptive(FixedPolicy((0.5, 0.5))).unsupported(3, horizon=10)
    assert reason == "the policy has 2 actions, the task 3"


def test_settings_out_of_range():
    with pytest.raises(TypeError, match="copies must be an agent, got 3"):
        StronglyAdaptive(3)
    with pytest.raises(ValueError, match="loss_range must be finite and above 0, got 0"):
        StronglyAdaptive(loss_range=0)
