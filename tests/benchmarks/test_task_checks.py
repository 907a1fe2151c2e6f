"""Tasks are checked by value before anything is played or written; a wrong one costs itself."""

import msgspec
import pytest
from conftest import invoke

from regret_envs.agents.identity import located, portable
from regret_envs.benchmarks.running import planning
from regret_envs.benchmarks.running.results import read
from regret_envs.benchmarks.tasks.checks import SuiteError, check_task, fault_of_id, sanitized_id
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.game import game_tasks
from regret_envs.benchmarks.tasks.size import TooLargeError
from regret_envs.benchmarks.tasks.suites import find_tasks, read_suite

TASK = """
[[task]]
id = "t1"
world = "streams.gaussian"
horizon = 5
metrics = ["external_regret"]
loss_scale = 1.0
summary = "s"
"""
WRONG = {
    "loss_scale = nan": "loss_scale must be finite and positive, got nan",
    "loss_scale = inf": "loss_scale must be finite and positive, got inf",
    "loss_scale = 0.0": "loss_scale must be finite and positive, got 0.0",
    "loss_scale = -1.0": "loss_scale must be finite and positive, got -1.0",
    "starting_loss_scale = nan": "starting_loss_scale must be finite and not negative, got nan",
    "starting_loss_scale = -1.0": "starting_loss_scale must be finite and not negative",
    "horizon = 0": "horizon must be at least 1",
    "horizon = 1000000000000": "is more than 100,000,000 rounds, at least 13,889 hours",
    "num_runs = 0": "num_runs must be at least 1",
    "version = -1": "version must be at least 1",
    "metrics = []": "a metric is required",
    'metrics = ["external_regret", "external_regret"]': "metrics must differ",
    'metrics = ["cce_gap"]': "cce_gap is defined in games",
    'metrics = ["regert"]': "unknown metric 'regert'",
    "settings = { num_actions = 1000000000 }": "makes arrays of about 7.5 GiB",
    "settings = { num_actions = 3, scale = nan }": "settings must be finite",
    'id = "=1+1"': "an id begins with a letter, a digit or an underscore",
    'id = "a\\u0000b"': "an id has no commas, control characters or spaces at its ends",
    'id = "a,b"': "an id has no commas",
    'id = ""': "an id has 1 to 100 characters, not 0",
    'summary = "a\\nb"': "summary must be one line",
    'horizon = "x"': "task 1: Expected `int`, got `str`",
    "horizn = 3": "task 1: Object contains unknown field `horizn`; did you mean 'horizon'?",
}


def edited(line):
    key = line.partition(" = ")[0]
    lines = [x for x in TASK.split("\n") if not x.startswith(f"{key} =")]
    return "\n".join([*lines, line, ""])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_value_is_named_and_costs_the_task_alone(folder, line):
    (folder / "my.toml").write_text(edited(line) + TASK.replace("t1", "right"))
    problems = []
    assert [task.id for task in find_tasks("my.toml", wrong=problems)] == ["right"]
    assert len(problems) == 1 and WRONG[line] in problems[0] and "my.toml, task" in problems[0]
    with pytest.raises(SuiteError):
        find_tasks("my.toml")


def test_run_plays_the_others_and_exits_with_1(folder):
    (folder / "my.toml").write_text(edited("loss_scale = nan") + TASK.replace("t1", "right"))
    args = ("--suite", "my.toml", "--agents", "uniform", "--runs", 1, "--executor", "local:1")
    result = invoke("run", *args, "--results", "r", code=1)
    assert "task 't1': loss_scale must be finite" in result.stderr and "left out" in result.stderr
    assert {row.task for row in read("r").rows} == {"right"}
    (folder / "my.toml").write_text(edited("loss_scale = nan"))
    assert "loss_scale must be finite" in invoke("run", *args, "--results", "other", code=2).stderr
    assert not (folder / "other").exists()


def test_a_horizon_is_not_longer_than_the_data(folder):
    (folder / "losses.csv").write_text("0.1,0.9\n0.8,0.3\n")
    text = TASK.replace("streams.gaussian", "streams.recorded") + 'settings = { source = "losses.csv" }\n'
    (folder / "my.toml").write_text(text)
    with pytest.raises(SuiteError, match="horizon 5 is longer than the recorded stream"):
        find_tasks("my.toml")


def test_a_world_may_raise_anything(folder):
    (folder / "a_world_that_raises.py").write_text(
        "from regret_envs.worlds import World\ndef f() -> World: raise KeyError('mine')\n"
    )
    (folder / "my.toml").write_text(TASK.replace("streams.gaussian", "a_world_that_raises:f"))
    with pytest.raises(SuiteError, match="task 't1': 'mine'"):
        find_tasks("my.toml")


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ({"horizon": 10**12}, "13,889 hours a cell: take less, or pass --force"),
        ({"settings": {"num_actions": 10**7}}, "64 runs with 10,000,000 actions take about 38 GiB a cell"),
    ],
)
def test_what_cannot_end_or_fit_is_refused_with_the_estimate(kind, says):
    task = msgspec.structs.replace(TASKS["bernoulli_d10_t1000"], id="large", **kind)
    with pytest.raises(TooLargeError, match=says):
        planning.plan("s", [task], ["uniform"], runs=64, seed=0)
    assert planning.plan("s", [task], ["uniform"], runs=64, seed=0, force=True)


@pytest.mark.parametrize(
    ("world", "settings"),
    [
        ("streams.gaussian", {"num_actions": 10**9}),
        ("streams.markov_modulated", {"num_states": 10**9}),
        ("games.shapley", {"num_actions": 10**5}),
        ("games.random_game", {"num_actions": [2] * 40}),
        ("games.polymatrix", {"num_actions": [20_000] * 4}),
        ("games.polymatrix", {"num_actions": [3] * 10**5}),
        ("games.congestion", {"num_players": 10**9}),
        ("games.congestion", {"num_resources": 10**6}),
        ("games.congestion", {"num_strategies": 10**9}),
        ("games.braess", {"num_players": 10**9}),
        ("games.blotto", {"troops": [1000, 1000], "battlefields": [1] * 6}),
        ("games.blotto", {"troops": [10**9, 6]}),
        ("games.first_price_auction", {"num_bids": 10**9}),
        ("games.second_price_auction", {"num_players": 10**9}),
        ("games.public_goods", {"num_levels": 10**9}),
        ("games.minority", {"num_players": 10**9}),
    ],
)
def test_a_world_that_does_not_fit_is_refused_before_it_is_made(world, settings):
    settings_of = {"world": world, "settings": settings}
    task = msgspec.structs.replace(TASKS["weighted_rps_t1000"], id="large", **settings_of)
    with pytest.raises(
        SuiteError, match=rf"{world} with these settings makes arrays of about [\d,.]+ GiB: take"
    ):
        check_task(task, "here")


def test_rounds_are_counted_for_every_player():
    settings = {"num_players": 10_000, "num_resources": 2}
    task = msgspec.structs.replace(
        TASKS["weighted_rps_t1000"], id="many", world="games.congestion", settings=settings, horizon=100_000
    )
    with pytest.raises(SuiteError, match=r"horizon 100,000 with 10,000 players .* at least 14 hours a cell"):
        check_task(task, "here")


def test_an_error_without_a_message_is_named(folder):
    (folder / "a_mute_world.py").write_text(
        "from regret_envs.worlds import World\ndef f() -> World: raise MemoryError\n"
    )
    (folder / "my.toml").write_text(TASK.replace("streams.gaussian", "a_mute_world:f"))
    with pytest.raises(SuiteError, match="task 't1': MemoryError"):
        find_tasks("my.toml")


def test_too_many_cells_are_refused_before_any_is_made():
    with pytest.raises(TooLargeError, match="15,625,000,000 cells are more than 1,000,000"):
        planning.plan("s", [TASKS["bernoulli_d10_t1000"]], ["uniform"], runs=10**12, seed=0)
    result = invoke("run", "--suite", "smoke", "--agents", "uniform", "--runs", 10**12, code=2)
    assert "cells are more than 1,000,000" in result.stderr
    result = invoke("tournament", "--game", "chicken", "--agents", "uniform", "--horizon", 10**12, code=2)
    assert "27,778 hours" in result.stderr  # of two players


def test_no_built_in_task_is_too_large():
    for task in TASKS.values():
        assert check_task(task, "here") == task


def test_ids():
    for id in ("a", "Über 2 × 2", "_x", "2x2x2", "a/b.c+d-e"):
        assert fault_of_id(id) is None and sanitized_id(id) == id
    for text in ("(a)", "=1", "a,b", "x" * 300, "a\x00b", " a ", ""):
        assert fault_of_id(text) is not None and fault_of_id(sanitized_id(text)) is None


NFG = 'NFG 1 R "two" {{ "a" "b" }} {{ 2 2 }}\n\n{} 1 0 0 0 0 1 1\n'


def test_a_game_file_named_as_a_built_in_task_is_another_task(folder):
    (folder / "shapley_t5000.nfg").write_text(NFG.format(1))
    ((task,), _) = game_tasks(["shapley_t5000.nfg"])
    assert task.id.startswith("shapley_t5000-") and task.id not in TASKS
    assert game_tasks(["shapley"])[0][0].id == "shapley"


def test_a_suite_is_portable(folder, monkeypatch):
    away = folder / "away"
    away.mkdir()
    (away / "losses.csv").write_text("0.1,0.9\n0.8,0.3\n0.2,0.7\n")
    (away / "a_portable_world.py").write_text(
        "from regret_envs.streams import Recorded\n"
        "def world(data: str, word: str) -> Recorded: return Recorded(data, loss_scale=2.0)\n"
    )
    text = TASK.replace("horizon = 5", "horizon = 3")
    (away / "my.toml").write_text(
        text.replace("streams.gaussian", "streams.recorded")
        + 'settings = { source = "losses.csv" }\n'
        + text.replace("streams.gaussian", "a_portable_world:world").replace("t1", "t2")
        + 'settings = { data = "losses.csv", word = "losses" }\n'
    )
    one, two = read_suite("away/my.toml")
    assert one.settings["source"] == str(away / "losses.csv") == two.settings["data"]
    assert two.settings["word"] == "losses"
    before = [cell.key for cell in planning.plan("s", [one, two], ["uniform"], runs=1, seed=0)]
    moved = away.rename(folder / "moved")
    again = read_suite(moved / "my.toml")
    assert [cell.key for cell in planning.plan("s", again, ["uniform"], runs=1, seed=0)] == before
    (moved / "losses.csv").write_text("0.1,0.9\n0.8,0.3\n0.2,0.6\n")
    edited_keys = [cell.key for cell in planning.plan("s", again, ["uniform"], runs=1, seed=0)]
    assert not set(edited_keys) & set(before)


def test_files_of_opponents_lie_beside_the_suite(folder):
    away = folder / "away"
    away.mkdir()
    (away / "policy.npy").write_bytes(b"1")
    (away / "hedge").write_text("a file that is called as an agent")
    (away / "an_opponent.py").write_text(
        "from regret_envs.agents import Uniform\n"
        "class Own(Uniform):\n"
        "    def __init__(self, policy: str, other: str = ''):\n"
        "        open(policy).close()\n"
    )
    (away / "my.toml").write_text(
        TASK.replace("streams.gaussian", "games.chicken")
        + "opponents = ['an_opponent:Own[policy=policy.npy,other=hedge]']\n"
    )
    (task,) = read_suite("away/my.toml")
    assert task.opponents == (f"an_opponent:Own[policy={str(away / 'policy.npy')!r},other=hedge]",)
    (cell,) = planning.plan("s", [task], ["uniform"], runs=1, seed=0)
    moved = away.rename(folder / "moved")
    (again,) = planning.plan("s", read_suite(moved / "my.toml"), ["uniform"], runs=1, seed=0)
    assert (again.key, again.task_hash) == (cell.key, cell.task_hash)
    (moved / "policy.npy").write_bytes(b"2")
    (other,) = planning.plan("s", read_suite(moved / "my.toml"), ["uniform"], runs=1, seed=0)
    assert other.key != cell.key and other.task_hash != cell.task_hash
    assert invoke("run", "--suite", "moved/my.toml", "--agents", "uniform", "--runs", 2).exit_code == 0


@pytest.mark.parametrize(
    ("spec", "there"),
    [
        ("checkpoint:runs/lsa", "checkpoint:{}/runs/lsa"),
        ("checkpoint:runs/lsa[step_size=2.0]", "checkpoint:{}/runs/lsa[step_size=2.0]"),
        ("blum-mansour[copies=checkpoint:runs/lsa]", "blum-mansour[copies=checkpoint:{}/runs/lsa]"),
        (
            "hedged[members=(universal[weights=w.npz],hedge)]",
            "hedged[members=(universal[weights='{}/w.npz'],hedge)]",
        ),
        ("llm[model=m,prompts='runs']", "llm[model=m,prompts='{}/runs']"),
        ("hedge[step_size=2.0]", "hedge[step_size=2.0]"),
        ("stackelberg-leader[follower={{agent}}]", "stackelberg-leader[follower={{agent}}]"),
    ],
)
def test_located_specs(folder, spec, there):
    (folder / "runs" / "lsa").mkdir(parents=True)
    (folder / "w.npz").write_bytes(b"")
    found = located(spec.replace("{{", "{").replace("}}", "}"), folder)
    assert found == there.replace("{{", "{").replace("}}", "}").replace("{}", str(folder))
    assert str(folder) not in portable(found)
