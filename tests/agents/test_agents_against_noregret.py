"""The agents that the noregret package has too, against it (extra `bench`)."""

from __future__ import annotations

import numpy as np
import pytest

from regret_envs.agents import (
    BlumMansour,
    EuclideanFTRL,
    Hedge,
    OnlineGradientDescent,
    OptimisticHedge,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)

theirs = pytest.importorskip("noregret.regret_minimizers")


def weights(step):
    return lambda d: theirs.MultiplicativeWeightsUpdate(d, step)


PAIRS = {
    "hedge": (Hedge(step_size=0.4), weights(0.4), False),
    "optimistic": (OptimisticHedge(step_size=0.4), weights(0.4), True),
    "lazy": (EuclideanFTRL(step_size=0.2), lambda d: theirs.EuclideanRegularization(d, 0.2), False),
    "greedy": (OnlineGradientDescent(step_size=0.2), lambda d: theirs.OnlineGradientDescent(d, 0.2), False),
    "matching": (RegretMatching(), theirs.RegretMatching, False),
    "plus": (RegretMatchingPlus(), theirs.RegretMatchingPlus, False),
    "predictive": (PredictiveRegretMatchingPlus(), theirs.RegretMatchingPlus, True),
    "swap": (BlumMansour(Hedge(step_size=0.9)), lambda d: theirs.BlumMansour(d, weights(0.9)), False),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("num_actions", [2, 5])
def test_same_play(name, num_actions):
    agent, make_theirs, prediction = PAIRS[name]
    other = make_theirs(num_actions)
    agent.reset(num_actions, horizon=None, num_runs=1, rng=np.random.default_rng(0))
    for t, row in enumerate(np.random.default_rng(1).normal(size=(50, num_actions))):
        expected = other.next_strategy(prediction) if prediction and t else other.next_strategy()
        assert np.allclose(agent.act()[0], expected, rtol=0, atol=1e-9)
        agent.observe(row[None])
        other.observe_utility(-row)
