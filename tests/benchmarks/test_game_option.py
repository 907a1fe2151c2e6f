"""What `--game` takes: the same for `run` and `tournament`."""

import numpy as np
import pytest
from conftest import invoke

from regret_envs import games
from regret_envs.benchmarks.running.results import read
from regret_envs.benchmarks.tasks.game import game_tasks, tournament_task
from regret_envs.benchmarks.tasks.task import make_world

ROW, COLUMN = [[3, 0], [5, 1], [2, 2]], [[3, 5], [0, 1], [1, 4]]

FACTORY = f"""
from regret_envs import games, streams

def asymmetric(bonus=0.0) -> games.NormalFormGame:
    return games.NormalFormGame([[[3 + bonus, 0], [5, 1], [2, 2]], {COLUMN}], name="mine")

def stream() -> streams.Gaussian:
    return streams.Gaussian(3)
"""

SUITE = f"""
[[task]]
id = "mine"
payoffs = [{ROW}, {COLUMN}]
horizon = 50
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "factories_here.py").write_text(FACTORY)
    (tmp_path / "mine.toml").write_text(SUITE)
    (tmp_path / "three.toml").write_text("tasks = ['jordan_t1000']\n" + SUITE)
    (tmp_path / "stream.toml").write_text("tasks = ['gaussian_d3_t20']\n")
    np.savez("arrays.npz", row=np.array(ROW, float), column=np.array(COLUMN, float))
    profiles = " ".join(f"{ROW[i][j]} {COLUMN[i][j]}" for j in range(2) for i in range(3))
    (tmp_path / "gambit.nfg").write_text(f'NFG 1 R "g" {{ "a" "b" }} {{ 3 2 }} {profiles}')
    (tmp_path / "notes.txt").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "id", "horizon", "scale"),
    [
        ("chicken", "chicken", 1000, None),
        ("games.chicken", "chicken", 1000, None),
        ("gambit.nfg", "gambit", 1000, 2 / 5),
        ("arrays.npz", "arrays", 1000, 2 / 5),
        ("mine.toml", "mine", 50, 1),
        ("factories_here:asymmetric", "asymmetric", 1000, 1),
    ],
)
def test_every_source_is_one_task_for_both_commands(folder, source, id, horizon, scale):
    (task,), notes = game_tasks([source])
    assert (task.id, task.horizon) == (id, horizon) and len(notes) <= 1
    paired, _ = tournament_task(source)
    assert (paired.id, paired.horizon) == (f"tournament_{id}_t{horizon}", horizon)
    assert tournament_task(source, 7)[0].rounds == (7,)
    for one in (task, paired):
        game = make_world(one)
        assert one.loss_scale == pytest.approx(game.loss_scale)
        if scale:
            np.testing.assert_allclose(game.payoffs, [np.array(ROW) * scale, np.array(COLUMN) * scale])


def test_settings_in_brackets(folder):
    (task,), (note,) = game_tasks(["random_game[num_actions=(3, 4), seed=2]"])
    np.testing.assert_array_equal(make_world(task).payoffs[1], games.random_game((3, 4), seed=2).payoffs[1])
    assert "3 × 4 actions" in note and task.id in note
    (other,), _ = game_tasks(["random_game[num_actions=(3, 4), seed=3]"])
    assert other.id != task.id
    (made,), _ = game_tasks(["factories_here:asymmetric[bonus=2]"])
    assert make_world(made).payoffs[0][0, 0] == 5


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("chikcen", "unknown game 'chikcen': did you mean 'chicken'?"),
        ("nothere.nfg", "there is no file nothere.nfg"),
        ("nothere.npz", "there is no file nothere.npz"),
        ("nothere.csv", "there is no file nothere.csv"),
        ("nothere.toml", "nothere.toml cannot be read"),
        ("notes.txt", "notes.txt is not a file that contains a game: .nfg, .efg, .npz, .npy and .toml are"),
        ("stream.toml", "task 'gaussian_d3_t20' is a stream, not a game: give --suite stream.toml"),
        ("factories_here:stream", "which is a stream, not a game"),
        ("factories_here:nothing", "has no 'nothing': known: asymmetric, stream"),
        ("chicken[", "malformed game 'chicken['"),
        ("random_game", "needs the setting 'num_actions'; its settings: num_actions, seed=0"),
        ("random_game[num_action=3]", "unknown setting 'num_action' of game 'random_game', did you mean"),
        ("chicken[scale=2]", "unknown setting 'scale' of game 'chicken', which has no settings"),
        ("normal_form", "payoffs = [[...], [...]]"),
    ],
)
@pytest.mark.parametrize("command", ["run", "tournament"])
def test_what_is_wrong_is_named(folder, command, source, says):
    assert says in invoke(command, "--game", source, code=2).stderr


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("jordan", "a tournament needs a game of 2 players, and jordan has 3"),
        ("three.toml", "a tournament plays one game, and three.toml has 2: jordan_t1000, mine"),
        ("opponents.toml", "leave out the opponents of mine"),
    ],
)
def test_games_without_a_tournament(folder, source, says):
    (folder / "opponents.toml").write_text(SUITE + 'opponents = ["hedge"]\n')
    assert says in invoke("tournament", "--game", source, code=2).stderr


def test_the_commands(folder):
    args = ["--game", "mine.toml", "--agents", "hedge,ftl", "--runs", "2", "--executor", "local:1"]
    assert "scores over 2 tasks" in invoke("run", *args, "--game", "chicken").stdout
    result = invoke("tournament", *args, "--horizon", "20")
    assert "### tournament_mine_t20: ranking" in result.stdout
    assert {row.task for row in read("regret-envs-results.jsonl").rows} == {
        *("mine", "chicken", "tournament_mine_t20")
    }


def test_a_suite_file_without_a_line_for_the_task(folder):
    (folder / "bare.toml").write_text(SUITE.replace("[[task]]", ""))
    says = "write id below a line [[task]], which begins a task"
    assert says in invoke("run", "--suite", "bare.toml", code=2).stderr
