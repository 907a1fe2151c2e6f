"""Shimmy's wrapper of OpenSpiel beside our games from OpenSpiel: the same actions bring the same rewards."""

import itertools

import pytest

pyspiel = pytest.importorskip("pyspiel")
shimmy = pytest.importorskip("shimmy")

from regret_envs import repeated_game_v1
from regret_envs.games.openspiel import from_openspiel


@pytest.mark.parametrize("name", ["matrix_pd", "matrix_rps", "matrix_bos", "matrix_shapleys_game"])
def test_rewards_of_every_joint_action(name):
    theirs = shimmy.OpenSpielCompatibilityV0(game_name=name)
    game = from_openspiel(name)
    ours = repeated_game_v1.parallel_env(game=game, horizon=1, action_mode="discrete")
    assert ours.possible_agents == theirs.possible_agents
    for actions in itertools.product(*(range(d) for d in game.num_actions)):
        theirs.reset(seed=0)
        ours.reset(seed=0)
        for action in actions:
            theirs.step(action)
        rewards = ours.step(dict(zip(ours.agents, actions, strict=True)))[1]
        assert rewards == pytest.approx(theirs.rewards, abs=1e-12)
