"""Optuna: a sweep over a learner's settings."""

import re

import pytest

pytest.importorskip("optuna")
pytest.importorskip("stable_baselines3")


def test_a_sweep_finds_settings_that_learn(run_example):
    printed = run_example("sweep_optuna", "6")
    (best,) = re.findall(r"best ([.\d]+):", printed)
    assert "of 6 trials complete" in printed and float(best) < 0.4  # uniform play: 0.86
