"""AgileRL: IPPO, a short run."""

import re

import pytest

pytest.importorskip("agilerl")


def test_ippo(run_example):
    # The script, not an import: its environments live in processes of their own.
    (mean,) = re.findall(r"return of an episode: ([-+.\d]+)", run_example("train_agilerl"))
    assert abs(float(mean)) < 40  # it runs; in so few rounds it hardly learns


def test_a_policy_comes_back_as_it_was_trained(example, assert_comes_back):
    agilerl = example("train_agilerl")
    agent = agilerl.train(steps=1_600, copies=0)
    scores = [agent.test(agilerl.make(), loop=1, sum_scores=False)[0] for _ in range(400)]
    assert_comes_back(scores, agilerl.as_agent(agent), learned=False)
