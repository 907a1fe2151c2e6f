"""Gambit's files, through pygambit."""

import subprocess
import sys

import numpy as np
import pytest

pygambit = pytest.importorskip("pygambit")

from gambit_texts import OUTCOMES

from regret_envs import games, simulate
from regret_envs.agents import Hedge
from regret_envs.benchmarks.tasks.game import game_tasks
from regret_envs.benchmarks.tasks.task import make_world
from regret_envs.games.gambit import read_efg, read_nfg


@pytest.fixture
def write(tmp_path):
    def write(text, name="game.nfg"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_what_gambit_writes_is_read_back(write):
    game = games.random_game((2, 3, 2), seed=4)
    # Gambit writes exact rationals.
    text = pygambit.Game.from_arrays(*game.payoffs).to_nfg()
    again = read_nfg(write(text))
    for one, other in zip(game.payoffs, again.payoffs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)
    agents = [[Hedge(), Hedge(), Hedge()] for _ in range(2)]
    gaps = [simulate(g, a, horizon=9).gaps().cce.max for g, a in zip((game, again), agents, strict=True)]
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-12)


def test_run_on_the_command_line(write, tmp_path):
    path = write(OUTCOMES, "selten.nfg")
    (task,), (note,) = game_tasks([str(path)])
    assert task.id == "selten" and make_world(task).loss_scale == 2 == task.loss_scale
    assert "payoffs divided by 1.5 to a range of 2" in note
    program = [sys.executable, "-c", "from regret_envs.benchmarks.cli.main import main; main()"]
    command = [*program, "run", "--game", str(path), "--agents", "hedge,blum-mansour", "--runs", "4"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "selten" in done.stdout and "blum-mansour" in done.stdout and "divided by 1.5" in done.stdout
    bad = subprocess.run(
        [*program, "run", "--game", str(write("?", "bad.nfg"))], capture_output=True, text=True
    )
    assert bad.returncode == 2 and "bad.nfg is not a game in Gambit's .nfg format" in bad.stderr


def _catalog():
    """Every game of pygambit's catalog, as text of the strategic form."""
    try:
        names = list(pygambit.catalog.games()["Game"])
    except (AttributeError, KeyError, TypeError):
        names = list(pygambit.catalog.games())
    for name in names:
        yield name, pygambit.catalog.load(name)


def test_the_whole_catalog_is_read_as_pygambit_reads_it(tmp_path):
    seen = 0
    for name, game in _catalog():
        shape = [len(player.strategies) for player in game.players]
        if np.prod(shape) > 50_000:
            continue
        text = game.to_nfg()
        path = tmp_path / "game.nfg"
        path.write_text(text)
        mine, theirs = read_nfg(path), pygambit.read_nfg(path)
        for one, other in zip(mine.payoffs, theirs.to_arrays(dtype=float), strict=True):
            np.testing.assert_array_equal(one, np.asarray(other, dtype=float), err_msg=name)
        seen += 1
    assert seen > 20


def test_an_extensive_game(tmp_path):
    # Matching pennies, the second player not seeing the first one's choice.
    path = tmp_path / "pennies.efg"
    path.write_text(
        'EFG 2 R "pennies" { "a" "b" }\n""\n'
        'p "" 1 1 "" { "H" "T" } 0\n'
        'p "" 2 1 "" { "H" "T" } 0\nt "" 1 "" { 1, -1 }\nt "" 2 "" { -1, 1 }\n'
        'p "" 2 1 "" { "H" "T" } 0\nt "" 3 "" { -1, 1 }\nt "" 4 "" { 1, -1 }\n'
    )
    game = read_efg(path)
    np.testing.assert_array_equal(game.payoffs[0], [[1, -1], [-1, 1]])
    np.testing.assert_array_equal(game.payoffs[1], [[-1, 1], [1, -1]])
    assert game_tasks([str(path)])[0][0].world == "regret_envs.games.gambit:read_efg"
    path.write_text("nonsense")
    with pytest.raises(ValueError, match=r"is not a game in Gambit's \.efg format"):
        read_efg(path)
