"""Tianshou: DQN on pure actions."""

import re

import pytest

pytest.importorskip("tianshou")


def test_dqn_learns_pure_actions(run_example):
    # Uniform play returns 0 on average, and 100 test episodes have a standard error of about 1.5.
    (mean,) = re.findall(r"best mean return of an episode: ([-+.\d]+)", run_example("train_tianshou"))
    assert float(mean) > 8
