"""Tianshou: DQN on pure actions."""

import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tianshou")

from tianshou.data import Collector
from tianshou.utils.torch_utils import policy_within_training_step


def test_dqn_learns_pure_actions(run_example):
    # Uniform play returns 0 on average, and 100 test episodes have a standard error of about 1.5.
    (mean,) = re.findall(r"best mean return of an episode: ([-+.\d]+)", run_example("train_tianshou"))
    assert float(mean) > 8


def test_a_policy_comes_back_as_it_was_trained(example, assert_comes_back):
    tianshou = example("train_tianshou")
    algorithm, _ = tianshou.train()
    collector = Collector(algorithm, tianshou.copies(7))
    collector.reset()
    with policy_within_training_step(algorithm.policy, enabled=False), torch.no_grad():
        returns = collector.collect(n_episode=1_000).returns
    assert_comes_back(returns, tianshou.as_agent(algorithm))
