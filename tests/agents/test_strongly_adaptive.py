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
    for t, row in enumerate(losses):
        for k in range(6):
            if t % 2**k == 0:
                experts[k] = {"sum": np.zeros(3), "regret": 0.0, "scale": 0.0}
        proposals, weights = {}, {}
        for k, expert in experts.items():
            step = math.sqrt(2 * math.log(3) / 2**k)
            proposals[k] = np.exp(-step * expert["sum"])
            proposals[k] /= proposals[k].sum()
            weights[k] = adanormalhedge_weight(expert["regret"], expert["scale"])
        policy = sum(weights[k] * proposals[k] for k in experts) / sum(weights.values())
        np.testing.assert_allclose(agent.act()[0], policy, atol=1e-12)
        agent.observe(row[None])
        for k, expert in experts.items():
            gain = (policy - proposals[k]) @ row / 2
            expert["regret"] += gain
            expert["scale"] += abs(gain)
            expert["sum"] += row


def adanormalhedge_weight(regret, scale):
    above, below = (max(regret + sign, 0) ** 2 / (3 * (scale + 1)) for sign in (1, -1))
    return math.exp(above) - math.exp(below)


def test_levels_grow_with_the_rounds_where_the_horizon_is_unknown():
    agent = StronglyAdaptive()
    agent.reset(2, horizon=None, num_runs=1, rng=np.random.default_rng(0))
    levels = []
    for _ in range(9):
        levels.append(len(agent._experts))
        agent.act()
        agent.observe(np.zeros((1, 2)))
    assert levels == [1, 1, 2, 2, 3, 3, 3, 3, 4]


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
    with pytest.raises(ValueError, match="loss_range must be positive, got 0"):
        StronglyAdaptive(loss_range=0)
