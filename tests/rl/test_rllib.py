"""RLlib: PPO, one iteration."""

import re

import pytest

pytest.importorskip("ray.rllib")


def test_ppo_in_a_three_player_game(run_example):
    printed = run_example("train_rllib")
    means = re.findall(r"(player_\d): mean return of an episode ([-+.\d]+)", printed)
    assert {player for player, _ in means} == {"player_0", "player_1", "player_2"}
    assert all(abs(float(mean)) <= 20 for _, mean in means)
