"""`regret-envs list`, and tasks as TOML that plays the same."""

import json

import msgspec
import pytest
from conftest import invoke

from regret_envs.agents.universal import laws
from regret_envs.benchmarks.running.planning import plan
from regret_envs.benchmarks.running.runner import measure
from regret_envs.benchmarks.tasks.core import SUITES, TASKS
from regret_envs.benchmarks.tasks.suites import SuiteError, read_suite
from regret_envs.benchmarks.tasks.task import Layer, Task
from regret_envs.benchmarks.tasks.toml import suite_text
from regret_envs.games import NAMED_GAMES
from regret_envs.metrics import METRICS
from regret_envs.streams import STREAMS


def plain(task):
    """What determines a task's numbers: everything but its id, lists and tuples alike."""
    return json.loads(msgspec.json.encode(msgspec.structs.replace(task, id="")))


def test_every_built_in_task_reads_back_as_it_was(tmp_path):
    (tmp_path / "all.toml").write_text(suite_text(TASKS.values()), encoding="utf-8")
    again = read_suite(tmp_path / "all.toml")
    assert [task.id for task in again] == [f"my_{id}" for id in TASKS]
    for task, copy in zip(TASKS.values(), again, strict=True):
        assert plain(copy) == plain(task), task.id


@pytest.mark.parametrize(
    "id",
    [
        "biased_gaussian_d3_t20",
        "language_random_game_t25",
        "language_bandit_hard_d5_t50",
        "language_chicken_t25_vs_hedge",
        "nyse_o_windows",
        "weighted_rps_t20",
    ],
)
def test_a_printed_task_gives_the_same_numbers(tmp_path, id):
    (tmp_path / "mine.toml").write_text(invoke("list", id).stdout, encoding="utf-8")
    values = []
    for task in (TASKS[id], read_suite(tmp_path / "mine.toml")[0]):
        (cell,) = plan("s", [task], ["exp3" if task.feedback else "hedge"], runs=2, seed=3)
        rows = measure(cell)
        assert rows[0].status == "ok"
        values.append([(row.metric, row.round, row.values) for row in rows])
    assert values[0] == values[1]


def test_a_suite_is_printed_whole():
    assert invoke("list", "paper").stdout.count("[[task]]") == len(SUITES["paper"].tasks)
    assert "did you mean 'jordan_t1000'" in invoke("list", "jordan_t100", code=2).stderr


def test_what_toml_holds_and_what_it_does_not(tmp_path):
    settings = {
        "num_actions": 3,
        "law": 'a "quoted" \\ word \x7f ½',
        "x y": [1e-300, float("inf"), -1e16, True, {}],
    }
    task = Task(
        id="t", world="games.chicken", settings=settings, horizon=9, metrics=("cce_gap",), loss_scale=7.0,
        feedback=(Layer("bandit", {"loss_offset": -1.0}),), opponents=("hedge[step_size=0.5]",), seat=1,
        rounds=(3, 9), starting_loss_scale=0.5, num_runs=4, version=2, summary="every field",
    )  # fmt: skip
    (tmp_path / "t.toml").write_text(suite_text([task], "a suite"), encoding="utf-8")
    read = msgspec.toml.decode((tmp_path / "t.toml").read_bytes())
    assert read["summary"] == "a suite"
    assert msgspec.convert(read["task"][0], Task) == msgspec.structs.replace(task, id="my_t")
    broken = msgspec.structs.replace(task, settings={"seed": None})
    with pytest.raises(
        ValueError, match="task 't' cannot be written as TOML: settings: there is no TOML for None"
    ):
        suite_text([broken])


def test_metrics_worlds_and_laws():
    for flag, names in (
        ("--metrics", METRICS),
        ("--worlds", [*(f"games.{n}" for n in NAMED_GAMES), *(f"streams.{n}" for n in STREAMS)]),
        ("--laws", [f"{laws.__name__}:{n}" for n in ("Factors", "Jumps", "RandomizedAdversary")]),
    ):
        rows = [line.split("|") for line in invoke("list", flag).stdout.splitlines() if line[:1] == "|"][2:]
        assert {row[1].strip() for row in rows} >= set(names) and len(rows) >= len(names)
        assert all(cell.strip() for row in rows for cell in row[1:-1])
    assert "num_players=10, num_resources=5, num_strategies=None" in invoke("list", "--worlds").stdout
    assert "equivalence margin, 0.1 % of the normalization (--margin)" in invoke("list", "--metrics").stdout
    assert "give one of them" in invoke("list", "tasks", "--laws", code=2).stderr


CSV = """
[[task]]
id = "windows"
world = "streams.recorded"
settings = { source = "losses.csv", window = 3 }
horizon = 3
metrics = ["external_regret"]
loss_scale = 1.0
summary = "my losses"
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("horizon = 3", "horizon = 4", "has 3 rounds per window; give horizon = 3 or less"),
        ("horizon = 3", "horizon = 3\nnum_runs = 5", "has 4 full windows of 3 rounds, one per run"),
        ("horizon = 3", "horizon = 3\nnum_runs = 5", "give num_runs = 4"),
        (", window = 3", "", None),
        ("window = 3", "block_length = 3", None),
    ],
)
def test_the_number_of_runs_follows_from_the_windows(tmp_path, monkeypatch, old, new, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "losses.csv").write_text("a,b\n" + "0.5,1\n1,0\n" * 7)
    (tmp_path / "mine.toml").write_text(CSV)
    assert read_suite("mine.toml")[0].num_runs == 4
    (tmp_path / "mine.toml").write_text(CSV.replace(old, new))
    if says is None:
        assert read_suite("mine.toml")[0].num_runs is None
    else:
        with pytest.raises(SuiteError, match=r"mine\.toml, task 'windows'") as error:
            read_suite("mine.toml")
        assert says in str(error.value)
