"""Games to and from OpenSpiel."""

import subprocess
import sys

import numpy as np
import pytest

from regret_envs import games
from regret_envs.games.openspiel import from_openspiel, to_openspiel

pyspiel = pytest.importorskip("pyspiel")


@pytest.mark.parametrize("num_actions", [(2, 3), (3, 1), (2, 3, 4), (2, 1, 3, 2)])
def test_there_and_back(num_actions):
    game = games.random_game(num_actions, seed=1)
    theirs = to_openspiel(game)
    assert isinstance(theirs, pyspiel.MatrixGame if len(num_actions) == 2 else pyspiel.TensorGame)
    rng = np.random.default_rng(0)
    for _ in range(5):
        profile = [int(rng.integers(d)) for d in num_actions]
        state = theirs.new_initial_state()
        state.apply_actions(profile)
        assert state.returns() == [payoff[tuple(profile)] for payoff in game.payoffs]
    for ours, back in zip(game.payoffs, from_openspiel(theirs).payoffs, strict=True):
        np.testing.assert_array_equal(ours, back)


def test_their_games_by_name_and_by_object():
    game = from_openspiel("matrix_pd")
    np.testing.assert_array_equal(game.payoffs[0], [[5, 0], [10, 1]])
    np.testing.assert_array_equal(game.payoffs[1], [[5, 10], [0, 1]])
    assert repr(game) == "<matrix_pd, 2 × 2 actions>"
    tensor = pyspiel.extensive_to_tensor_game(pyspiel.load_game("kuhn_poker"))
    assert from_openspiel(tensor).num_actions == (64, 64)


def test_what_is_wrong_is_said():
    with pytest.raises(
        TypeError, match=r"kuhn_poker.* is not a matrix or tensor game: .*extensive_to_tensor"
    ):
        from_openspiel("kuhn_poker")
    code = """
import sys
sys.modules["pyspiel"] = sys.modules["pygambit"] = None
from regret_envs.games.openspiel import from_openspiel
for call, says in ((from_openspiel, "pip install open_spiel"),):
    try:
        call("x")
    except ImportError as error:
        assert says in str(error)
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
